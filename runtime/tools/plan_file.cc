#include "runtime/tools/plan_file.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/tools/input_file.h"
#include "runtime/tools/json_text.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPlanFileBytes = size_t{64} << 20;  // a plan takes half a kilobyte

absl::StatusOr<GivenPlan> ReadLine(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  GivenPlan read;
  if (json.contains("model") && json["model"].is_string()) {
    read.model = json["model"].get<std::string>();
  }
  if (json.contains("tokens") && json["tokens"].is_number_integer()) {
    read.tokens = json["tokens"].get<int64_t>();
  }
  read.is_chosen = json.value("chosen", Json(false)) == Json(true);
  const bool is_wrapped = json.contains("plan");
  FUSEBOX_ASSIGN_OR_RETURN(
      read.plan, FusionPlan::FromJson(is_wrapped ? json["plan"].dump() : std::string(line)));
  if (read.tokens < 0 || read.tokens > read.plan.token_tile) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", read.tokens, " tokens for a tile of ", read.plan.token_tile));
  }
  return read;
}

}  // namespace

absl::StatusOr<std::vector<GivenPlan>> ReadPlanFile(const std::string& path) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(path, "plan file", "a file with one plan a line", kMaxPlanFileBytes));
  std::vector<GivenPlan> plans;
  int number = 0;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    absl::StatusOr<GivenPlan> read = ReadLine(line);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " line ", number, ": ", read.status().message()));
    }
    plans.push_back(*std::move(read));
  }
  if (plans.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan file ", path, " has no plan; `fusebox plan --sample` prints some"));
  }
  return plans;
}

std::string PlanFileLine(const GivenPlan& given) {
  return JsonText({{"model", given.model},
                   {"tokens", given.tokens},
                   {"chosen", given.is_chosen},
                   {"plan", Json::parse(given.plan.ToJson(), nullptr, /*allow_exceptions=*/false)}},
                  kOnOneLine);
}

}  // namespace fusebox
