#include "runtime/tools/verify_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNamesOfALine = 3;

// "a, b, c and 4 more".
std::string SomeOf(const std::vector<std::string>& names) {
  if (names.size() <= kNamesOfALine + 1) return absl::StrJoin(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + kNamesOfALine);
  return absl::StrCat(absl::StrJoin(first, ", "), " and ", names.size() - kNamesOfALine, " more");
}

// "co_resident" of "co_resident: no partition ...".
std::string RuleOf(const std::string& sentence) { return sentence.substr(0, sentence.find(':')); }

Json SetsJson(const std::map<std::string, std::set<std::string>>& sets) {
  Json json = Json::object();
  for (const auto& [name, members] : sets) json[name] = members;
  return json;
}

}  // namespace

std::string_view ToString(VerifyOutcome outcome) {
  switch (outcome) {
    case VerifyOutcome::kRight:
      return "right";
    case VerifyOutcome::kWrong:
      return "WRONG";
    case VerifyOutcome::kDeclined:
      return "declined";
    case VerifyOutcome::kFailed:
      return "FAILED";
    case VerifyOutcome::kMissing:
      return "missing";
  }
  return "unknown";
}

std::string ToLine(const VerifyRow& row) {
  std::string line = absl::StrFormat("%-8s ", ToString(row.outcome));
  const std::string models = SomeOf(row.models);
  absl::StrAppend(&line, models, models.empty() ? "" : " ", row.op, " tp ", row.tensor_parallel);
  if (row.tokens > 0) absl::StrAppend(&line, " M ", row.tokens);
  if (row.worst_ratio > 0) absl::StrAppendFormat(&line, "  error/bound %.3f", row.worst_ratio);
  for (const std::string& text : {row.plan, row.sentence}) {
    if (!text.empty()) absl::StrAppend(&line, "  ", text);
  }
  return line;
}

void VerifyReport::Add(const VerifyRow& row) {
  rows_.push_back(row);
  ++counts_[row.outcome];
  worst_ratio_ = std::max(worst_ratio_, row.worst_ratio);
  if (row.outcome == VerifyOutcome::kDeclined) refused_[RuleOf(row.sentence)].insert(row.op);
  if (row.outcome != VerifyOutcome::kRight) return;
  shapes_[row.dataflow].insert(row.shape);
  models_[row.variant].insert(row.models.begin(), row.models.end());
}

int VerifyReport::Count(VerifyOutcome outcome) const {
  const auto found = counts_.find(outcome);
  return found == counts_.end() ? 0 : found->second;
}

ExitCode VerifyReport::Code() const {
  if (Count(VerifyOutcome::kWrong) + Count(VerifyOutcome::kFailed) > 0) return ExitCode::kFailed;
  return Count(VerifyOutcome::kMissing) > 0 ? ExitCode::kMissing : ExitCode::kDone;
}

std::string VerifyReport::ToText(const std::string& gpu, uint64_t compiles) const {
  std::string text;
  for (const auto& [dataflow, shapes] : shapes_) {
    absl::StrAppend(&text, "dataflow ", dataflow, ": right on ", shapes.size(),
                    " shapes: ", absl::StrJoin(shapes, ", "), "\n");
  }
  for (const auto& [variant, models] : models_) {
    if (models == std::set<std::string>{""}) continue;  // of an op named by its dims
    absl::StrAppend(&text, "variant ", variant, ": right on ", models.size(), " models\n");
  }
  for (const auto& [rule, ops] : refused_) {
    absl::StrAppend(&text, "declined by ", rule, ": ", ops.size(),
                    " ops: ", absl::StrJoin(ops, ", "), "\n");
  }
  absl::StrAppendFormat(
      &text,
      "%s: %d right, %d wrong, %d declined, %d failed, %d missing; worst error/bound %.3f; %d "
      "kernels compiled\n",
      gpu, Count(VerifyOutcome::kRight), Count(VerifyOutcome::kWrong),
      Count(VerifyOutcome::kDeclined), Count(VerifyOutcome::kFailed),
      Count(VerifyOutcome::kMissing), worst_ratio_, compiles);
  return text;
}

Json VerifyReport::ToJson(const std::string& gpu, uint64_t compiles) const {
  Json json = {{"gpu", gpu},
               {"right", Count(VerifyOutcome::kRight)},
               {"wrong", Count(VerifyOutcome::kWrong)},
               {"declined", Count(VerifyOutcome::kDeclined)},
               {"failed", Count(VerifyOutcome::kFailed)},
               {"missing", Count(VerifyOutcome::kMissing)},
               {"worst_ratio", worst_ratio_},
               {"compiles", compiles},
               {"shapes_by_dataflow", SetsJson(shapes_)},
               {"models_by_variant", SetsJson(models_)},
               {"declined_by_rule", SetsJson(refused_)},
               {"rows", Json::array()}};
  for (const VerifyRow& row : rows_) {
    json["rows"].push_back({{"models", row.models},
                            {"op", row.op},
                            {"tensor_parallel", row.tensor_parallel},
                            {"tokens", row.tokens},
                            {"plan", row.plan},
                            {"dataflow", row.dataflow},
                            {"outcome", ToString(row.outcome)},
                            {"worst_ratio", row.worst_ratio},
                            {"sentence", row.sentence}});
  }
  return json;
}

}  // namespace fusebox
