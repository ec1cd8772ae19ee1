#include "runtime/tools/bench_sweep.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/engine/start_threads.h"
#include "runtime/tools/input_file.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/progress.h"
#include "src/base/status.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "src/source/emit.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPlanFileBytes = size_t{64} << 20;  // a plan takes half a kilobyte

absl::StatusOr<PlanToTime> ReadLine(std::string_view line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("is no JSON object");
  PlanToTime read;
  if (json.contains("model") && json["model"].is_string()) {
    read.model = json["model"].get<std::string>();
  }
  if (json.contains("tokens") && json["tokens"].is_number_integer()) {
    read.tokens = json["tokens"].get<int64_t>();
  }
  const bool is_wrapped = json.contains("plan");
  FUSEBOX_ASSIGN_OR_RETURN(
      read.plan, FusionPlan::FromJson(is_wrapped ? json["plan"].dump() : std::string(line)));
  if (read.tokens < 0 || read.tokens > read.plan.token_tile) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", read.tokens, " tokens for a tile of ", read.plan.token_tile));
  }
  return read;
}

// Into the session's memory; a plan that does not compile fails again, and is reported, when timed.
void CompileAll(GpuSession& session, const std::vector<PlanToTime>& plans) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < plans.size(); i = next++) {
      const auto source = Emit(plans[i].plan, session.overrides().templates);
      if (source.ok()) (void)session.kernels().GetOrCompile(*source, session.permission());
    }
  };
  // This thread works too, so that fewer threads than asked for, or none, are slower and no more.
  std::vector<std::thread> threads =
      StartThreads(static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u)) - 1,
                   [&](int) { return std::thread(work); });
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

absl::StatusOr<std::vector<PlanToTime>> ReadPlanFile(const std::string& path) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(path, "plan file", "a file with one plan a line", kMaxPlanFileBytes));
  std::vector<PlanToTime> plans;
  int number = 0;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    absl::StatusOr<PlanToTime> read = ReadLine(line);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " line ", number, ": ", read.status().message()));
    }
    plans.push_back(*std::move(read));
  }
  return plans;
}

std::vector<BenchRow> TimePlans(GpuSession& session, BenchRun& run, const DeviceSpec& gpu,
                                const std::vector<PlanToTime>& plans) {
  CompileAll(session, plans);
  Progress progress(stderr, Progress::StyleFor(stderr), static_cast<int>(plans.size()));
  std::vector<BenchRow> rows;
  for (const PlanToTime& to_time : plans) {
    const FusionPlan& plan = to_time.plan;
    const absl::Status legal = CheckLegal(plan, gpu);
    std::vector<BenchRow> timed = {{.op = plan.problem.Name(),
                                    .tokens = to_time.tokens,
                                    .plan = plan.Summary(),
                                    .plan_json = plan.ToJson(),
                                    .refusal = std::string(legal.message())}};
    if (legal.ok()) timed = run.TimePlan(plan, to_time.tokens);
    for (BenchRow& row : timed) {
      row.model = to_time.model;
      if (legal.ok()) row.predicted_us = EstimateCost(plan, gpu).us();
      progress.Finished(row.plan, row.is_timed() ? absl::StrCat(row.timing.median, " us")
                                                 : absl::StrCat(row.refusal, row.failure));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string SweepLines(const std::vector<BenchRow>& rows) {
  std::string lines;
  for (const BenchRow& row : rows) {
    Json json = Json::object();
    if (row.is_timed()) {
      json = {{"us", row.timing.median},
              {"p10", row.timing.p10},
              {"p90", row.timing.p90},
              {"floor_us", row.floor_us},
              {"predicted_us", row.predicted_us},
              {"neighbours", row.neighbours}};
    } else {
      json["failure"] = absl::StrCat(row.refusal, row.failure);
    }
    json["model"] = row.model;
    json["tokens"] = row.tokens;
    json["plan"] = Json::parse(row.plan_json, nullptr, /*allow_exceptions=*/false);
    lines += JsonText(json, kOnOneLine);
  }
  return lines;
}

}  // namespace fusebox
