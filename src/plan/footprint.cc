#include "src/plan/footprint.h"

#include <algorithm>

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;    // bf16 and fp16
constexpr int64_t kFragmentBytes = 16;  // one thread's part of a 64 x 8 fp32 accumulator block
constexpr int64_t kWarpgroupThreads = 128;
constexpr int64_t kScratchBytes = 64;  // a float each of at most 16 consumer warps

}  // namespace

int UpTilesPerWarpgroup(const FusionPlan& plan) {
  const int row_groups = plan.consumer_warpgroups / plan.up.k_warpgroups;
  return static_cast<int>(CeilDiv(CeilDiv(plan.up.rows_per_cta, kWgmmaRows), row_groups));
}

int DownTilesPerWarpgroup(const FusionPlan& plan) {
  return static_cast<int>(
      CeilDiv(CeilDiv(plan.down.rows_per_pass, kWgmmaRows), plan.consumer_warpgroups));
}

int64_t UpSlotBytes(const FusionPlan& plan) {
  return plan.problem.num_up_matrices() * plan.up.rows_per_cta * plan.up.k_per_slot * kElementBytes;
}

int64_t DownSlotBytes(const FusionPlan& plan) {
  return int64_t{plan.down.rows_per_pass} * plan.down.k_per_slot * kElementBytes;
}

Footprint FootprintOf(const FusionPlan& plan) {
  Footprint f;
  f.slot_bytes = RoundUp(std::max(UpSlotBytes(plan), DownSlotBytes(plan)), kSmemAlignment);
  f.activation_offset = f.ring_offset + plan.ring_slots * f.slot_bytes;
  f.activation_slot_bytes = int64_t{plan.token_tile} * plan.up.k_per_slot * kElementBytes;
  f.intermediate_offset = f.activation_offset + plan.activation_slots * f.activation_slot_bytes;
  f.intermediate_bytes = plan.chunk_rows() * plan.token_tile * kElementBytes;
  f.exchange_offset = f.intermediate_offset + f.intermediate_bytes;
  const int64_t row_groups = plan.consumer_warpgroups / plan.up.k_warpgroups;
  f.exchange_bytes = (plan.up.k_warpgroups - 1) * row_groups * UpTilesPerWarpgroup(plan) *
                     plan.problem.num_up_matrices() * (plan.token_tile / 8) * kWarpgroupThreads *
                     kFragmentBytes;
  f.scratch_offset = f.exchange_offset + f.exchange_bytes;
  f.scratch_bytes = plan.problem.norm == Norm::kNone ? 0 : kScratchBytes;
  f.barrier_offset = f.scratch_offset + f.scratch_bytes;
  f.barrier_bytes = (2 * plan.ring_slots + 2 * plan.activation_slots + plan.down.passes +
                     (plan.problem.norm == Norm::kNone ? 0 : 1)) *
                    kBarrierBytes;
  f.total_bytes = f.barrier_offset + f.barrier_bytes + kSmemAlignment;
  return f;
}

int64_t PartialBytes(const FusionPlan& plan) {
  return int64_t{plan.grid_ctas()} * plan.down.passes * plan.consumer_warpgroups *
         DownTilesPerWarpgroup(plan) * (plan.token_tile / 8) * kWarpgroupThreads * kFragmentBytes;
}

int64_t NormalizedRowsOffset(const FusionPlan& plan) {
  return kWorkspaceHeaderBytes + PartialBytes(plan);
}

int64_t WorkspaceBytes(const FusionPlan& plan) {
  const FfnProblem& problem = plan.problem;
  const int64_t rows_bytes = plan.token_tile * problem.hidden.value() * kElementBytes;
  int64_t copies = problem.norm == Norm::kNone ? 0 : plan.num_clusters;
  if (problem.residual_mode == ResidualMode::kAddBeforeNorm) copies += plan.num_clusters;
  if (problem.residual_mode == ResidualMode::kSandwich) ++copies;
  return NormalizedRowsOffset(plan) + copies * rows_bytes;
}

}  // namespace fusebox
