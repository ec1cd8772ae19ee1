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
#include "runtime/engine/overrides.h"
#include "src/device/device_spec.h"
#include "src/plan/fusion_pays.h"
#include "src/plan/ladder.h"
#include "src/plan/search.h"
#include "src/shape/ffn_problem.h"
#include "src/source/kernel_source.h"

namespace fusebox {

struct PlannedKernel {
  SearchReport report;
  KernelSource source;
  Residency residency = Residency::kAllClusters;
};

// BuildLadder, or the plan forced in its place. Declined when no plan serves the problem on this
// device, or where fusion does not pay, unless the overrides serve it all the same; InvalidArgument
// for a forced plan that is not legal there.
absl::StatusOr<std::vector<LadderRung>> ChooseLadder(const FfnProblem& problem, int token_tile,
                                                     const DeviceSpec& device,
                                                     const PlanOverrides& overrides);

// The kernels of ChooseLadder's plans; InvalidArgument also for templates that no longer take a
// plan's constants.
absl::StatusOr<std::vector<PlannedKernel>> PlanLadder(const FfnProblem& problem, int token_tile,
                                                      const DeviceSpec& device,
                                                      const PlanOverrides& overrides = {});

// Kernel, digest, workspace bytes and report of the rung in force (before one is: of the first),
// and the ladder.
std::string LadderJson(absl::Span<const PlannedKernel> rungs, std::optional<size_t> in_force);

// The ladder's first rung alone: its report, and with its kernel.
absl::StatusOr<SearchReport> ChoosePlan(const FfnProblem& problem, int token_tile,
                                        const DeviceSpec& device, const PlanOverrides& overrides);
absl::StatusOr<PlannedKernel> PlanAndEmit(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device,
                                          const PlanOverrides& overrides = {});

// The name of the profile for a GPU of that name ("NVIDIA H200" -> "h200-sxm"); FailedPrecondition
// when none fits.
absl::StatusOr<std::string_view> ProfileNameFor(std::string_view gpu_name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_PLANNER_H_
