// The cost model: what one launch of a plan takes on a device, in named terms that add up.
// Every number is a field of DeviceSpec or a count of Traffic; no constant of its own.
// Deterministic on every machine: only + - * / and sqrt, no contraction. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_COST_MODEL_H_
#define FUSEBOX_SRC_PLAN_COST_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "src/device/device_spec.h"
#include "src/plan/fusion_plan.h"
#include "src/plan/traffic.h"

namespace fusebox {

enum class Boundary : int32_t { kPlain = 1, kPdl = 2 };  // how a launch follows the previous kernel

// What would bound a phase if it were alone, in us. They run side by side but wait for one another
// through short rings, so the phase takes their norm of exponent 2.5: the largest decides, a
// second one as large adds 32 %. Of the exponents 2 to 4 the one with the least regret on measured
// plans.
struct PhaseCost {
  double hbm_us = 0;         // weights at the rate that the bytes in flight reach
  double smem_us = 0;        // shared-memory port of one SM
  double tensor_us = 0;      // MMAs of one warpgroup, one after the other, and its turns at slots
  double producer_us = 0;    // the producer thread's boxes
  double activation_us = 0;  // activation slots, each a latency, a ring's worth at once
  double combine_us = 0;     // earlier passes' outputs, finished by two warps behind; phase 2
  double us() const;
  std::string_view bound() const;  // name of the largest: "hbm", "smem", ...
};

struct CostBreakdown {
  double boundary_us = 0;  // previous kernel's end to this one's start
  double launch_us = 0;    // start to the first slot full, last sum left to last output written
  PhaseCost up;
  PhaseCost down;
  double edge_us = 0;     // last sums of phase 1 to h where phase 2 reads it
  double combine_us = 0;  // the last pass's sums of all that share it
  double us() const;
  double floor_us = 0;  // compulsory bytes at the best read rate; not a term

  std::string ToJson() const;  // every term, the total and the ratio to the floor; 3 decimals
};

CostBreakdown EstimateCost(const FusionPlan& plan, const DeviceSpec& device,
                           Boundary boundary = Boundary::kPdl);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_COST_MODEL_H_
