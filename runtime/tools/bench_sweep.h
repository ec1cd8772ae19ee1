// Sweeps time given plans, one a line of a file: what the cost model is calibrated and judged by.
// Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tools/bench_run.h"
#include "src/device/device_spec.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

struct PlanToTime {
  FusionPlan plan;
  std::string model;   // as the line says, or empty
  int64_t tokens = 0;  // 0: the whole token tile
};

// A line is a plan's JSON, or an object with it as "plan" and perhaps "model" and "tokens"; empty
// lines are passed over. InvalidArgument with the line's number.
absl::StatusOr<std::vector<PlanToTime>> ReadPlanFile(const std::string& path);

// Compiles all on as many threads as the machine has, then times each. Plans that `gpu` declines
// become rows with a failure.
std::vector<BenchRow> TimePlans(GpuSession& session, BenchRun& run, const DeviceSpec& gpu,
                                const std::vector<PlanToTime>& plans);

// One line a row: {"us","p10","p90","floor_us","predicted_us","model","tokens","plan"} or
// {"failure","plan"}.
std::string SweepLines(const std::vector<BenchRow>& rows);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_SWEEP_H_
