#include "runtime/tools/warm_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/rule_list.h"
#include "runtime/tools/table.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

bool IsReady(const WarmRow& row) {
  return row.outcome == WarmOutcome::kCompiled || row.outcome == WarmOutcome::kCached;
}

// "declined: ring_fits", the sentence follows below the table.
std::string OutcomeText(const WarmRow& row) {
  if (row.outcome != WarmOutcome::kDeclined) return std::string(ToString(row.outcome));
  return absl::StrCat("declined: ", SplitDecline(row.sentence).rule);
}

std::string DegreesText(const WarmRow& row) {
  std::vector<int64_t> degrees;
  for (const WarmAsker& asker : row.piece.askers) {
    if (asker.tensor_parallel > 0) degrees.push_back(asker.tensor_parallel);
  }
  if (degrees.empty()) return "-";
  std::sort(degrees.begin(), degrees.end());
  degrees.erase(std::unique(degrees.begin(), degrees.end()), degrees.end());
  return absl::StrJoin(degrees, ",");
}

std::string KernelTable(const std::vector<WarmRow>& rows) {
  Table table({{"op"},
               {"tp"},
               {"tile", Align::kRight},
               {"plan"},
               {"rungs", Align::kRight},
               {"predicted us", Align::kRight},
               {"floor us", Align::kRight},
               {"ratio", Align::kRight},
               {"outcome"},
               {"compile ms", Align::kRight},
               {"regs", Align::kRight},
               {"spill B", Align::kRight},
               {"smem B", Align::kRight}});
  for (const WarmRow& row : rows) {
    const bool planned = !row.plan.empty();
    const bool ready = IsReady(row);
    const KernelResources& resources = row.resources;
    table.AddRow(
        {row.piece.name, DegreesText(row),
         row.piece.op.ok() ? absl::StrCat(row.piece.op->token_tile) : "-", planned ? row.plan : "-",
         ready ? absl::StrCat(1 + row.lower_rungs.size()) : "-",
         planned ? Fixed(row.predicted_us, 2) : "-", planned ? Fixed(row.floor_us, 2) : "-",
         planned ? Fixed(row.predicted_us / row.floor_us, 2) : "-", OutcomeText(row),
         row.outcome == WarmOutcome::kCompiled ? Fixed(row.compile_ms, 0) : "-",
         ready ? absl::StrCat(resources.registers) : "-",
         ready ? absl::StrCat(resources.spill_store_bytes + resources.spill_load_bytes) : "-",
         planned ? absl::StrCat(row.smem_bytes) : "-"});
  }
  return table.ToText();
}

// Each sentence once, with the first op it is about; not those of whole models, which come first.
std::string Sentences(const std::vector<ModelRequest>& requests, const std::vector<WarmRow>& rows) {
  std::vector<std::string> done;
  for (const ModelRequest& request : requests) done.emplace_back(request.declined.message());
  std::string text;
  for (const WarmRow& row : rows) {
    if (row.sentence.empty()) continue;
    if (std::find(done.begin(), done.end(), row.sentence) != done.end()) continue;
    done.push_back(row.sentence);
    const WarmAsker& asker = row.piece.askers.front();
    absl::StrAppend(&text, ToString(row.outcome), " ", row.piece.name, " (", asker.model,
                    asker.tensor_parallel > 0 ? absl::StrCat(", tp ", asker.tensor_parallel) : "",
                    "): ", row.sentence);
    const std::string_view help =
        row.outcome == WarmOutcome::kDeclined ? HelpFor(SplitDecline(row.sentence).rule) : "";
    absl::StrAppend(&text, help.empty() ? "" : "; what helps: ", help, "\n");
  }
  return text;
}

Json RowJson(const WarmRow& row) {
  Json askers = Json::array();
  for (const WarmAsker& asker : row.piece.askers) {
    Json roles = Json::array();
    for (const FfnRole role : asker.roles) roles.push_back(ToString(role));
    if (asker.tensor_parallel == 0) {
      askers.push_back({{"manifest", asker.model}});
      continue;
    }
    askers.push_back({{"model", asker.model},
                      {"blocks", roles},
                      {"tensor_parallel", asker.tensor_parallel},
                      {"tokens", asker.tokens}});
  }
  Json json = {{"op", row.piece.name}, {"outcome", ToString(row.outcome)}, {"asked_by", askers}};
  if (row.piece.op.ok()) json["token_tile"] = row.piece.op->token_tile;
  if (row.outcome == WarmOutcome::kDeclined) {
    const Decline decline = SplitDecline(row.sentence);
    json["rule"] = decline.rule;
    json["sentence"] = decline.sentence;
  } else if (!row.sentence.empty()) {
    json["sentence"] = row.sentence;
  }
  if (!row.plan.empty()) {
    json["plan"] = row.plan;
    json["digest"] = row.digest;
    json["predicted_us"] = row.predicted_us;
    json["floor_us"] = row.floor_us;
    json["ratio"] = row.predicted_us / row.floor_us;
    json["smem_bytes"] = row.smem_bytes;
  }
  if (row.outcome == WarmOutcome::kCompiled) json["compile_ms"] = row.compile_ms;
  if (IsReady(row)) {
    json["registers"] = row.resources.registers;
    json["stack_bytes"] = row.resources.stack_bytes;
    json["spill_store_bytes"] = row.resources.spill_store_bytes;
    json["spill_load_bytes"] = row.resources.spill_load_bytes;
    json["lower_rungs"] = Json::array();
    for (const WarmRung& rung : row.lower_rungs) {
      Json of_rung = {
          {"plan", rung.plan}, {"digest", rung.digest}, {"outcome", ToString(rung.outcome)}};
      if (rung.outcome == WarmOutcome::kCompiled) of_rung["compile_ms"] = rung.compile_ms;
      json["lower_rungs"].push_back(std::move(of_rung));
    }
  }
  return json;
}

Json RequestJson(const ModelRequest& request) {
  Json json = {{"model", request.model}};
  if (!request.declined.ok()) {
    const Decline decline = SplitDecline(request.declined.message());
    json["declined"] = std::string(request.declined.message());
    json["rule"] = decline.rule;
    json["sentence"] = decline.sentence;
    return json;
  }
  json["family"] = request.ffn.family;
  json["layers"] = request.ffn.num_layers;
  json["hidden"] = request.ffn.hidden.value();
  json["blocks"] = Json::array();
  for (const FfnBlock& block : request.ffn.blocks) {
    json["blocks"].push_back({{"block", ToString(block.role)},
                              {"intermediate", block.intermediate.value()},
                              {"layers", block.num_layers},
                              {"per_layer", block.per_layer}});
  }
  json["norm"] = ToString(request.ffn.norm);
  json["norm_eps"] = request.ffn.norm_eps;
  if (request.ffn.form == FfnForm::kGated) json["gate_up"] = ToString(request.weights);
  if (!request.note.empty()) json["note"] = request.note;
  return json;
}

}  // namespace

int WarmReport::Count(WarmOutcome outcome) const {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [&](const WarmRow& row) { return row.outcome == outcome; }));
}

int WarmReport::CountLowerRungs() const {
  size_t count = 0;
  for (const WarmRow& row : rows) count += row.lower_rungs.size();
  return static_cast<int>(count);
}

double WarmReport::MedianCompileMs() const {
  std::vector<double> times;
  for (const WarmRow& row : rows) {
    if (row.outcome == WarmOutcome::kCompiled) times.push_back(row.compile_ms);
  }
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  const size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

ExitCode WarmReport::Code() const {
  if (Count(WarmOutcome::kFailed) > 0) return ExitCode::kFailed;
  return Count(WarmOutcome::kMissing) > 0 ? ExitCode::kMissing : ExitCode::kDone;
}

std::string WarmReport::ToText() const {
  std::string text;
  for (const ModelRequest& request : requests) absl::StrAppend(&text, DescribeModel(request), "\n");
  for (const ManifestRequest& manifest : manifests) {
    absl::StrAppend(&text, DescribeManifest(manifest), "\n");
  }
  absl::StrAppend(&text, "\n", KernelTable(rows), "\n", Sentences(requests, rows));
  absl::StrAppend(&text, gpu, ": ", Count(WarmOutcome::kCompiled), " compiled, ",
                  Count(WarmOutcome::kCached), " cached, ", Count(WarmOutcome::kDeclined),
                  " declined, ", Count(WarmOutcome::kFailed) + Count(WarmOutcome::kMissing),
                  " failed in ", Fixed(seconds, 2), " s");
  if (Count(WarmOutcome::kCompiled) > 0) {
    absl::StrAppend(&text, "; median compile ", Fixed(MedianCompileMs(), 0), " ms");
  }
  if (!cache_root.empty()) absl::StrAppend(&text, "; cache ", cache_root);
  const int num_lower = CountLowerRungs();
  if (num_lower > 0) {
    absl::StrAppend(&text, "; with ", num_lower, " plans for GPUs that hold less");
  }
  absl::StrAppend(&text, "\n");
  if (Count(WarmOutcome::kDeclined) == static_cast<int>(rows.size())) {
    absl::StrAppend(&text,
                    "every op is declined: no kernel was made, the engine runs its own path\n");
  }
  return text;
}

std::string WarmReport::ToJson() const {
  Json json = {{"gpu", gpu},
               {"cache_root", cache_root},
               {"models", Json::array()},
               {"manifests", Json::array()},
               {"kernels", Json::array()}};
  for (const ModelRequest& request : requests) json["models"].push_back(RequestJson(request));
  for (const ManifestRequest& manifest : manifests) {
    json["manifests"].push_back({{"file", manifest.file}, {"entries", manifest.entries.size()}});
  }
  for (const WarmRow& row : rows) json["kernels"].push_back(RowJson(row));
  json["totals"] = {{"compiled", Count(WarmOutcome::kCompiled)},
                    {"cached", Count(WarmOutcome::kCached)},
                    {"declined", Count(WarmOutcome::kDeclined)},
                    {"failed", Count(WarmOutcome::kFailed)},
                    {"missing", Count(WarmOutcome::kMissing)},
                    {"median_compile_ms", MedianCompileMs()},
                    {"seconds", seconds}};
  return JsonText(json);
}

}  // namespace fusebox
