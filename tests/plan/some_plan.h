// Legal plans of Llama-2-7B on an H200 to change one field of, and that device.
#ifndef FUSEBOX_TESTS_PLAN_SOME_PLAN_H_
#define FUSEBOX_TESTS_PLAN_SOME_PLAN_H_

#include "src/device/device_profiles.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

inline DeviceSpec H200() { return FindDeviceProfile("h200-sxm").value(); }

inline FusionPlan SomePlan() {
  return {.problem = {.hidden = DimK(4096), .intermediate = DimN(11008)},
          .token_tile = 8,
          .cluster_size = 8,
          .num_clusters = 15,
          .consumer_warpgroups = 2,
          .ring_slots = 6,
          .slots_in_flight = 3,
          .activation_slots = 8,
          .up = {.rows_per_pass = 96, .k_per_slot = 64, .k_warpgroups = 1},
          .down = {.rows_per_pass = 256, .passes = 2, .k_per_slot = 64},
          .combine_patience_cycles = 50000};
}

// Of the other kind: grid gather whose phase 2 is split over a cluster, tokens in wgmma's rows, and
// activations multicast. 116 CTAs; 29 groups of 4 have 144 output rows and a part of k each.
inline FusionPlan SomeSplitPlan() {
  return {.problem = {.hidden = DimK(4096), .intermediate = DimN(11008)},
          .token_tile = 64,
          .cluster_size = 4,
          .num_clusters = 29,
          .consumer_warpgroups = 2,
          .mma_rows = MmaRows::kTokens,
          .ring_slots = 4,
          .slots_in_flight = 4,
          .activation_slots = 4,
          .up = {.rows_per_pass = 96, .k_per_slot = 64, .k_warpgroups = 2},
          .down = {.rows_per_pass = 144, .k_per_slot = 64, .k_warpgroups = 2, .k_ctas = 4},
          .edge_scope = Scope::kGrid,
          .combine = Combine::kDsmReduceScatter,
          .activation_multicast = true};
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_PLAN_SOME_PLAN_H_
