// Legal plans of a problem, thinned so that every kind of plan stays: plans are sorted into strata
// by what makes kernels differ, and taken from the strata in turn. Deterministic.
#ifndef FUSEBOX_TESTS_KERNELS_PLAN_SAMPLE_H_
#define FUSEBOX_TESTS_KERNELS_PLAN_SAMPLE_H_

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "src/device/device_profiles.h"
#include "src/plan/candidates.h"
#include "src/plan/legality.h"

namespace fusebox {

inline std::vector<FusionPlan> LegalPlans(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device) {
  std::vector<FusionPlan> legal;
  ForEachCandidate(problem, token_tile, device, [&](const FusionPlan& plan) {
    if (FirstBrokenRule(plan, device) == nullptr) legal.push_back(plan);
  });
  return legal;
}

// At most `max_plans` of them.
inline std::vector<FusionPlan> Stratified(const std::vector<FusionPlan>& plans, size_t max_plans) {
  const auto stratum = [](const FusionPlan& plan) {
    return std::tuple(plan.edge_scope, plan.cluster_size, plan.consumer_warpgroups,
                      plan.up.k_warpgroups, plan.combine_patience_cycles > 0,
                      plan.slots_in_flight<plan.ring_slots, plan.up.passes> 1, plan.down.passes > 1,
                      plan.down.k_warpgroups, plan.num_clusters > 1, plan.up.rows_per_pass > 64,
                      plan.up.rows_per_pass % 16, plan.down.rows_per_pass > 64,
                      plan.down.rows_per_pass % 16, plan.up.k_per_slot, plan.down.k_per_slot);
  };
  std::map<decltype(stratum(plans.front())), std::vector<FusionPlan>> strata;
  for (const FusionPlan& plan : plans) strata[stratum(plan)].push_back(plan);
  std::vector<FusionPlan> taken;
  for (size_t round = 0; taken.size() < std::min(max_plans, plans.size()); ++round) {
    for (const auto& [key, members] : strata) {
      if (round < members.size() && taken.size() < max_plans) taken.push_back(members[round]);
    }
  }
  return taken;
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_PLAN_SAMPLE_H_
