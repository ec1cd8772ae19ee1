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

// What would bound a phase if it were alone, in us; the phase takes the largest.
struct PhaseCost {
  double hbm_us = 0;         // weight bytes at the rate that the ring's bytes in flight reach
  double sm_stream_us = 0;   // the widest CTA's bytes at an SM's own limit
  double l2_us = 0;          // weights and activations, L2 to SMs
  double activation_us = 0;  // activation slots, each a latency, a ring's worth at once
  double smem_us = 0;        // shared-memory port of one SM
  double tensor_us = 0;      // MMAs of one CTA
  double producer_us = 0;    // the producer thread's slots and boxes
  double consumer_us = 0;    // the consumers' slots
  double us() const;
  double work_us() const;          // without HBM: what is left when the weights are already there
  std::string_view bound() const;  // name of the largest: "hbm", "smem", ...
};

struct CostBreakdown {
  double boundary_us = 0;  // previous kernel's end to this one's start
  double prologue_us = 0;  // start to the first slot full
  PhaseCost up;
  PhaseCost down;
  double edge_us = 0;       // last sums of phase 1 to h in every peer, as if nothing hid it
  double hidden_us = 0;     // of phase 2's stream, done behind the edge; subtracted
  double imbalance_us = 0;  // the widest CTA beyond the mean
  double combine_us = 0;    // partial sums through L2 and their ordered sum
  double overlap_us = 0;  // of prologue and combine, hidden by a second resident kernel; subtracted
  double us() const;
  double floor_us = 0;  // compulsory bytes at the best read rate; not a term

  std::string ToJson() const;  // every term, the total and the ratio to the floor; 3 decimals
};

CostBreakdown EstimateCost(const FusionPlan& plan, const DeviceSpec& device,
                           Boundary boundary = Boundary::kPdl);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_COST_MODEL_H_
