#include "runtime/tools/bench_sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/start_threads.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/progress.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "src/source/emit.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Into the session's memory; a plan that does not compile fails again, and is reported, when timed.
void CompileAll(GpuSession& session, const std::vector<GivenPlan>& plans) {
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

// The plans of one op, token tile and token count.
using Group = std::vector<const GivenPlan*>;

// In the order in which their first plans come.
std::vector<Group> GroupsOf(const std::vector<GivenPlan>& plans) {
  std::vector<Group> groups;
  std::map<std::tuple<FfnProblem, int, int64_t>, size_t> index_of;
  for (const GivenPlan& given : plans) {
    const std::tuple key(given.plan.problem, given.plan.token_tile, given.tokens);
    const auto [found, is_new] = index_of.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(&given);
  }
  return groups;
}

BenchRow RefusedRow(const GivenPlan& given, std::string_view why) {
  return {.op = given.plan.problem.Name(),
          .model = given.model,
          .tokens = given.tokens,
          .plan = given.plan.Summary(),
          .plan_json = given.plan.ToJson(),
          .is_chosen = given.is_chosen,
          .refusal = std::string(why)};
}

// A row for each neighbour, or one that says why there is none.
std::vector<BenchRow> TimeOne(BenchRun& run, const DeviceSpec& gpu, const GivenPlan& given,
                              int replays) {
  const absl::Status legal = CheckLegal(given.plan, gpu);
  if (!legal.ok()) return {RefusedRow(given, legal.message())};
  std::vector<BenchRow> rows = run.TimePlan(given.plan, given.tokens, replays);
  for (BenchRow& row : rows) {
    row.model = given.model;
    row.is_chosen = given.is_chosen;
    row.predicted_us = EstimateCost(given.plan, gpu).us();
  }
  return rows;
}

std::vector<std::vector<BenchRow>> TimeGroup(BenchRun& run, const DeviceSpec& gpu,
                                             const Group& group, const SweepOptions& options,
                                             Progress& progress) {
  const bool glances = options.fastest > 0;
  std::vector<std::vector<BenchRow>> rows;
  std::vector<BenchRow> firsts;
  for (const GivenPlan* given : group) {
    rows.push_back(TimeOne(run, gpu, *given, glances ? kGlanceReplays : options.replays));
    const BenchRow& row = firsts.emplace_back(rows.back().front());
    progress.Finished(row.plan, row.is_timed() ? absl::StrCat(row.timing.median, " us")
                                               : absl::StrCat(row.refusal, row.failure));
  }
  if (!glances) return rows;
  for (const size_t i : FastestAndChosen(firsts, options.fastest)) {
    rows[i] = TimeOne(run, gpu, *group[i], options.replays);
  }
  return rows;
}

}  // namespace

std::vector<size_t> FastestAndChosen(const std::vector<BenchRow>& rows, int fastest) {
  std::vector<size_t> timed;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_timed()) timed.push_back(i);
  }
  std::stable_sort(timed.begin(), timed.end(), [&](size_t a, size_t b) {
    return rows[a].timing.median < rows[b].timing.median;
  });
  std::vector<size_t> taken;
  for (size_t rank = 0; rank < timed.size(); ++rank) {
    const bool is_fast = rank < static_cast<size_t>(fastest);
    if (is_fast || rows[timed[rank]].is_chosen) taken.push_back(timed[rank]);
  }
  return taken;
}

bool TimePlans(GpuSession& session, BenchRun& run, const DeviceSpec& gpu,
               const std::vector<GivenPlan>& plans, const SweepOptions& options,
               const std::function<void(const BenchRow&)>& take) {
  const Clock::time_point start = Clock::now();
  CompileAll(session, plans);
  Progress progress(stderr, Progress::StyleFor(stderr), static_cast<int>(plans.size()));
  bool is_complete = true;
  for (const Group& group : GroupsOf(plans)) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (options.seconds > 0 && seconds > options.seconds) {
      is_complete = false;
      for (const GivenPlan* given : group) {
        take(RefusedRow(*given, absl::StrCat("not begun within ", options.seconds, " s")));
      }
      continue;
    }
    for (const std::vector<BenchRow>& rows : TimeGroup(run, gpu, group, options, progress)) {
      for (const BenchRow& row : rows) take(row);
    }
  }
  return is_complete;
}

std::string SweepHead(const BenchReport& report) {
  return JsonText({{"gpu", report.gpu},
                   {"driver", report.driver},
                   {"cuda", report.cuda},
                   {"date", report.date},
                   {"commit", report.commit},
                   {"read_gb_per_s", report.read_gb_per_s}},
                  kOnOneLine);
}

std::string SweepLine(const BenchRow& row) {
  Json json = Json::object();
  if (row.is_timed()) {
    json = {{"us", row.timing.median},     {"p10", row.timing.p10},
            {"p90", row.timing.p90},       {"replays", row.replays},
            {"floor_us", row.floor_us},    {"predicted_us", row.predicted_us},
            {"neighbours", row.neighbours}};
  } else {
    json["failure"] = absl::StrCat(row.refusal, row.failure);
  }
  json["model"] = row.model;
  json["tokens"] = row.tokens;
  json["chosen"] = row.is_chosen;
  json["summary"] = row.plan;
  json["plan"] = Json::parse(row.plan_json, nullptr, /*allow_exceptions=*/false);
  return JsonText(json, kOnOneLine);
}

}  // namespace fusebox
