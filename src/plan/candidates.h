// Candidates: the plans that the search looks at, in a fixed order. Partitions come from the
// device's table of resident clusters, so that few candidates are hopeless; legality is not checked
// here. Pure function of (problem, token tile, device): ties in the search are broken by this
// order.
#ifndef FUSEBOX_SRC_PLAN_CANDIDATES_H_
#define FUSEBOX_SRC_PLAN_CANDIDATES_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "src/device/device_spec.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

void ForEachCandidate(const FfnProblem& problem, int token_tile, const DeviceSpec& device,
                      absl::FunctionRef<void(const FusionPlan&)> visit);

std::vector<FusionPlan> EnumerateCandidates(const FfnProblem& problem, int token_tile,
                                            const DeviceSpec& device);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_CANDIDATES_H_
