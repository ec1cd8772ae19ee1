// The CPU's cost of a launch: fusebox_ffn_launch against a bare cuLaunchKernelEx of the same kernel
// with the same parameters and attributes, made ready beforehand. Batches of both alternate; each
// ends in a synchronisation outside the measured time, so that the stream never fills up.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_LAUNCH_COST_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_LAUNCH_COST_H_

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/tools/bench_timer.h"
#include "runtime/tools/measure_kernels.h"
#include "src/device/device_spec.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct LaunchCost {
  Timing launch;  // us of CPU a launch, of fusebox_ffn_launch
  Timing bare;    // of cuLaunchKernelEx
  std::string plan;
};

// `gpu`: the engine's profile, so that the bare kernel is the engine's.
absl::StatusOr<LaunchCost> MeasureLaunchCost(GpuSession& session, const MeasureKernels& kernels,
                                             const api::Engine& engine, const DeviceSpec& gpu,
                                             const FfnProblem& problem, int64_t tokens);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_LAUNCH_COST_H_
