// A legal plan of Llama-2-7B on an H200 to change one field of, and that device.
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

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_PLAN_SOME_PLAN_H_
