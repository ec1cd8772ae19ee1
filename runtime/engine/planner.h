// PlanLadder runs the deciding half of the pipeline for one op and token tile: search, then
// sources, of the plans that a GPU tries in order. Needs no GPU. Pure functions of their arguments;
// thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_PLANNER_H_
#define FUSEBOX_RUNTIME_ENGINE_PLANNER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/device/device_spec.h"
#include "src/plan/ladder.h"
#include "src/plan/search.h"
#include "src/shape/ffn_problem.h"
#include "src/source/emit.h"
#include "src/source/kernel_source.h"

namespace fusebox {

struct PlannedKernel {
  SearchReport report;
  KernelSource source;
  Residency residency = Residency::kAllClusters;
};

// The kernels of BuildLadder's plans. Declined when no plan serves the problem on this device.
absl::StatusOr<std::vector<PlannedKernel>> PlanLadder(const FfnProblem& problem, int token_tile,
                                                      const DeviceSpec& device);

// Kernel, digest, workspace bytes and report of the rung in force (before one is: of the first),
// and the ladder.
std::string LadderJson(absl::Span<const PlannedKernel> rungs, std::optional<size_t> in_force);

// The ladder's first rung alone.
absl::StatusOr<PlannedKernel> PlanAndEmit(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device,
                                          const EmitOptions& options = {});

// The name of the profile for a GPU of that name ("NVIDIA H200" -> "h200-sxm"); FailedPrecondition
// when none fits.
absl::StatusOr<std::string_view> ProfileNameFor(std::string_view gpu_name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_PLANNER_H_
