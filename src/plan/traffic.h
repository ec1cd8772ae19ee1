// Traffic counts what a plan moves, by level, and what its MMAs cost in steps: bytes and counts
// only, no rates. "Widest CTA" is the CTA with the most work, the first of cluster 0. Left out
// because small: biases, residuals, norm weights, and a norm's rows, which each cluster writes to
// L2 and streams from there in place of x while the weight ring fills. Pure function.
#ifndef FUSEBOX_SRC_PLAN_TRAFFIC_H_
#define FUSEBOX_SRC_PLAN_TRAFFIC_H_

#include <cstdint>

#include "src/plan/fusion_plan.h"

namespace fusebox {

struct PhaseTraffic {
  // Weights read by all CTAs; what lies beyond a matrix is zero fill and free.
  int64_t hbm_bytes = 0;
  // Of those, read by one CTA and used by another: the partial last box of a chunk.
  int64_t waste_bytes = 0;
  int64_t widest_cta_bytes = 0;  // weights read by the widest CTA
  int64_t activation_bytes = 0;  // x, or h of grid gather, from L2, all CTAs
  int64_t slots = 0;             // ring slots that each CTA fills and drains
  int64_t boxes = 0;             // TMA boxes of weights per CTA
  int64_t slot_bytes = 0;        // of one slot, zero fill included
  int64_t wgmmas = 0;            // m64nNk16 per CTA, padded rows included
  int64_t wgmma_chain = 0;       // of those, issued one after the other by one warpgroup
  int64_t wgmma_columns = 0;     // N of one
  int64_t smem_bytes = 0;        // per CTA: written by TMA, read by the MMAs
};

struct Traffic {
  PhaseTraffic up;
  PhaseTraffic down;
  int64_t dsm_bytes_per_cta = 0;  // h received by one CTA from its peers
  int64_t partial_bytes = 0;      // fp32 partial sums written to L2, and read again, by all CTAs
};

Traffic TrafficOf(const FusionPlan& plan);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_TRAFFIC_H_
