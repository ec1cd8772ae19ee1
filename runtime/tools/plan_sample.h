// PlanSample takes some of an op's legal plans, so that timing them shows what the planner's choice
// gave away: plans are sorted into strata by dataflow, cluster shape and band of predicted time,
// and every stratum gives about as many. Invariant: a pure function of its arguments; the chosen
// plan is among them, first, and none is there twice.
#ifndef FUSEBOX_RUNTIME_TOOLS_PLAN_SAMPLE_H_
#define FUSEBOX_RUNTIME_TOOLS_PLAN_SAMPLE_H_

#include <cstddef>
#include <vector>

#include "src/device/device_spec.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// The bands end at these multiples of the least predicted time; the last has no end. The first is
// the model's median error on the plans it was fitted to (tests/plan/measured_plans_test): within
// it the choice is a guess. Wider where only a large error could make a plan the best.
constexpr double kBandEnds[] = {1.05, 1.15, 1.3, 1.6, 2.0};

// `chosen` and legal plans of its problem and token tile, at most `max_plans`, all where there are
// no more. REQUIRES: `chosen` is legal on `device`; max_plans >= 1.
std::vector<FusionPlan> SamplePlans(const FusionPlan& chosen, const DeviceSpec& device,
                                    size_t max_plans);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_PLAN_SAMPLE_H_
