// Legal plans of a problem, thinned so that every kind of plan stays: plans are sorted by what
// makes kernels differ, first into kinds, these into strata, and taken from them in turn.
// Deterministic.
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

// The first of each list, then the second of each, and so on: at most `max_plans`, of more lists
// than that evenly spaced ones.
template <typename Key>
std::vector<FusionPlan> InTurn(const std::map<Key, std::vector<FusionPlan>>& lists,
                               size_t max_plans) {
  std::vector<const std::vector<FusionPlan>*> in_order;
  for (const auto& [key, members] : lists) in_order.push_back(&members);
  const size_t num_lists = std::min(in_order.size(), max_plans);
  std::vector<FusionPlan> taken;
  for (size_t round = 0, before = 1; taken.size() < max_plans && before > 0; ++round) {
    before = 0;
    for (size_t i = 0; i < num_lists && taken.size() < max_plans; ++i) {
      const std::vector<FusionPlan>& members = *in_order[i * in_order.size() / num_lists];
      if (round >= members.size()) continue;
      taken.push_back(members[round]);
      ++before;
    }
  }
  return taken;
}

// Kinds differ in what moves between CTAs, and in which operand has wgmma's rows.
using PlanKind = std::tuple<Scope, MmaRows, int, bool>;

inline PlanKind KindOf(const FusionPlan& plan) {
  return {plan.edge_scope, plan.mma_rows, plan.down.k_ctas, plan.activation_multicast};
}

// Each kind's plans, those of different shape in turn.
inline std::map<PlanKind, std::vector<FusionPlan>> KindsOf(const std::vector<FusionPlan>& plans) {
  const auto stratum = [](const FusionPlan& plan) {
    return std::tuple(plan.cluster_size, plan.consumer_warpgroups, plan.up.k_warpgroups,
                      plan.combine_patience_cycles > 0,
                      plan.slots_in_flight<plan.ring_slots, plan.up.passes> 1, plan.down.passes > 1,
                      plan.down.k_warpgroups, plan.num_clusters > 1, plan.up.rows_per_pass > 64,
                      plan.up.rows_per_pass % 16, plan.down.rows_per_pass > 64,
                      plan.down.rows_per_pass % 16, plan.up.k_per_slot, plan.down.k_per_slot);
  };
  using Strata = std::map<decltype(stratum(plans.front())), std::vector<FusionPlan>>;
  std::map<PlanKind, Strata> strata;
  for (const FusionPlan& plan : plans) strata[KindOf(plan)][stratum(plan)].push_back(plan);
  std::map<PlanKind, std::vector<FusionPlan>> kinds;
  for (const auto& [kind, of_kind] : strata) kinds[kind] = InTurn(of_kind, plans.size());
  return kinds;
}

// At most `max_plans` of them, of each kind in turn.
inline std::vector<FusionPlan> Stratified(const std::vector<FusionPlan>& plans, size_t max_plans) {
  return InTurn(KindsOf(plans), max_plans);
}

inline std::vector<FusionPlan> OneOfEachKind(const std::vector<FusionPlan>& plans) {
  const auto kinds = KindsOf(plans);
  return InTurn(kinds, kinds.size());
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_PLAN_SAMPLE_H_
