// PlanAndEmit runs the deciding half of the pipeline for one op and token tile: search, then
// source. Needs no GPU. Pure function of its arguments; thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_PLANNER_H_
#define FUSEBOX_RUNTIME_ENGINE_PLANNER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/engine/overrides.h"
#include "src/device/device_spec.h"
#include "src/plan/search.h"
#include "src/shape/ffn_problem.h"
#include "src/source/kernel_source.h"

namespace fusebox {

struct PlannedKernel {
  SearchReport report;
  KernelSource source;

  std::string ToJson() const;  // kernel, digest, workspace bytes, and the search's report
};

// Declined when no plan serves the problem on this device; InvalidArgument for a forced plan that
// is not legal there, and for templates that no longer take the plan's constants.
absl::StatusOr<PlannedKernel> PlanAndEmit(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device,
                                          const PlanOverrides& overrides = {});

// The first half of it: the search, or the plan forced in its place.
absl::StatusOr<SearchReport> ChoosePlan(const FfnProblem& problem, int token_tile,
                                        const DeviceSpec& device, const PlanOverrides& overrides);

// The name of the profile for a GPU of that name ("NVIDIA H200" -> "h200-sxm"); FailedPrecondition
// when none fits.
absl::StatusOr<std::string_view> ProfileNameFor(std::string_view gpu_name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_PLANNER_H_
