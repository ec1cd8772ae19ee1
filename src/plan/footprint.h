// Footprint: where one CTA of a plan keeps things in shared memory, and how much workspace a launch
// needs. Invariant: equals the device's carve (kernels_templates/tile/ffn_smem.cuh); a test
// compiles both and compares. Pure functions of the plan.
#ifndef FUSEBOX_SRC_PLAN_FOOTPRINT_H_
#define FUSEBOX_SRC_PLAN_FOOTPRINT_H_

#include <cstdint>

#include "src/plan/fusion_plan.h"

namespace fusebox {

constexpr int64_t kSmemAlignment = 1024;  // bytes: the 128-byte swizzle repeats every 1024 bytes
constexpr int64_t kWorkspaceHeaderBytes = 65536;  // 1 KiB debug report, counters; partials follow
constexpr int64_t kWorkspaceCounters = 16112;  // a rank's, pass's and unit's (16 rows x 8 tokens)

constexpr int kRegisterGranule = 8;  // registers are given to a thread in steps of 8

constexpr int64_t kBarrierBytes = 8;
constexpr int64_t kSlotBarrierBytes = 2 * kBarrierBytes;  // of a ring's slot: full and empty

struct Footprint {
  int64_t slot_bytes = 0;   // one weight slot: the larger of the two phases', rounded up to 1024
  int64_t ring_offset = 0;  // = 0
  int64_t activation_offset = 0;      // = ring_slots * slot_bytes
  int64_t activation_slot_bytes = 0;  // token_tile * 128 bytes for each 64 elements of k
  // h, granules of 8 rows, token_tile * 16 bytes each: the cluster's chunk; with grid gather one
  // pass of the CTA's own slice, on its way to L2.
  int64_t intermediate_offset = 0;
  int64_t intermediate_bytes = 0;
  int64_t exchange_offset = 0;  // fp32 sums handed between warpgroups that split k, if any
  int64_t exchange_bytes = 0;
  int64_t scratch_offset = 0;  // a float a consumer warp, in ops with a norm
  int64_t scratch_bytes = 0;
  // full[ring], empty[ring], full[act], empty[act]; with dsm gather h, stored[passes - 1]; with
  // dsm reduce_scatter space, received[warps with sums]; with a norm rows: 8 bytes each
  int64_t barrier_offset = 0;
  int64_t barrier_bytes = 0;
  int64_t total_bytes = 0;  // to ask for, incl. kSmemAlignment of slack for the base
};
Footprint FootprintOf(const FusionPlan& plan);

// Tiles of 64 wgmma rows of a pass: of one matrix's weights, or of the tokens.
int RowTilesOf(const FusionPlan& plan, const PhasePartition& phase);
// Blocks of 8 wgmma columns: of the tokens, or of one matrix's weights.
int BlocksOf(const FusionPlan& plan, const PhasePartition& phase);
// Tiles of 64 wgmma rows that one warpgroup owns in a pass of a phase (phase 1: of gate and of up
// each). REQUIRES: the phase's k_warpgroups divides consumer_warpgroups (rule
// warpgroup_split).
int TilesPerWarpgroup(const FusionPlan& plan, const PhasePartition& phase);

// Registers a thread of the producer warpgroup and of the consumer warpgroups, which setmaxnreg
// moves between them; 0 where each keeps what the launch gave it.
struct RegisterSplit {
  int producer = 0;
  int consumer = 0;
};
RegisterSplit SplitRegisters(const FusionPlan& plan);

// Bytes of one ring slot that each phase fills; Footprint::slot_bytes holds the larger.
int64_t UpSlotBytes(const FusionPlan& plan);
int64_t DownSlotBytes(const FusionPlan& plan);

// Bytes of sums that a CTA gets from those which split k with it; they lie where the rings were.
int64_t ReceivedBytes(const FusionPlan& plan);

// Bytes of fp32 partial sums: per CTA, passes * warpgroups * tiles * (token_tile / 8) fragments of
// 128 threads * 16 bytes. 0 where no clusters are combined: with grid gather.
int64_t PartialBytes(const FusionPlan& plan);
// Bytes of h in L2, [token_tile, intermediate]. 0 with dsm gather.
int64_t GatheredBytes(const FusionPlan& plan);

// In the workspace, after the header: partial sums, h of grid gather; in ops with a norm each
// cluster's normalised rows; then, in mode add_before_norm, each cluster's sums of x and residual,
// in mode sandwich the block's outputs. Offsets in bytes from the workspace's start.
int64_t GatheredRowsOffset(const FusionPlan& plan);
int64_t NormalizedRowsOffset(const FusionPlan& plan);
int64_t WorkspaceBytes(const FusionPlan& plan);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FOOTPRINT_H_
