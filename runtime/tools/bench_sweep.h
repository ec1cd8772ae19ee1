// Sweeps time given plans: what the cost model is calibrated and judged by. Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_

#include <functional>
#include <string>
#include <vector>

#include "runtime/tools/bench_report.h"
#include "runtime/tools/bench_run.h"
#include "runtime/tools/plan_file.h"
#include "src/device/device_spec.h"

namespace fusebox {

struct SweepOptions {
  int replays = 30;
  // Above 0: each plan is first timed by kGlanceReplays; then the so many fastest of each op and
  // token tile, and those that the planner would take, once more by all the replays.
  int fastest = 0;
  double seconds = 0;  // above 0: an op and tile that is not begun by then is left out
};

// For ranking alone. A kernel's replays are 0.7 % apart from p10 to p90, the most restless
// twentieth of the rows 10 % (bench/results/2026-12-01-h200-ffn.json, behind another Fusebox
// kernel).
constexpr int kGlanceReplays = 3;

// Which of an op's rows are to be timed again: the `fastest` fastest and every chosen one, fastest
// first; rows without a timing are passed over.
std::vector<size_t> FastestAndChosen(const std::vector<BenchRow>& rows, int fastest);

// Compiles all on as many threads as the machine has, then times each, op by op and tile by tile in
// the order in which they come, so that an op's weights are made once where its plans are together.
// Rows are handed over as soon as their op and tile is done. What `gpu` declines, and what the time
// did not suffice for, are rows with a refusal. True where the time sufficed.
bool TimePlans(GpuSession& session, BenchRun& run, const DeviceSpec& gpu,
               const std::vector<GivenPlan>& plans, const SweepOptions& options,
               const std::function<void(const BenchRow&)>& take);

// {"gpu","driver","cuda","date","commit","read_gb_per_s"} of the run, on one line.
std::string SweepHead(const BenchReport& report);

// {"us","p10","p90","replays","floor_us","predicted_us","neighbours","model","tokens",
// "chosen","summary","plan"} or {"failure","model","tokens","chosen","summary","plan"}, on one
// line.
std::string SweepLine(const BenchRow& row);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_
