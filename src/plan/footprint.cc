#include "src/plan/footprint.h"

#include <algorithm>

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;    // bf16 and fp16
constexpr int64_t kFragmentBytes = 16;  // one thread's part of a 64 x 8 fp32 accumulator block
constexpr int64_t kWarpgroupThreads = 128;
constexpr int64_t kScratchBytes = 64;  // a float each of at most 16 consumer warps

constexpr int kRegistersPerSm = 65536;  // CUDA C++ Programming Guide, compute capability 9.0
// From this tile on a consumer's accumulators may need more than an even share of registers; below
// it giving them more was measured to gain nothing.
constexpr int kSplitTokenTile = 64;
constexpr int kProducerRegisters = 40;  // addresses and loop state of one thread that copies
constexpr int kCombiningProducerRegisters =
    88;                                  // and of warps that add up 16 partial sums at a time
constexpr int kMaxSplitRegisters = 240;  // PTX ISA 9.7.19.5: up to 256; the compiler uses up to 255

// Fp32 sums of one matrix in a pass of one CTA.
int64_t PassBytes(const FusionPlan& plan, const PhasePartition& phase) {
  const int64_t row_groups = plan.consumer_warpgroups / phase.k_warpgroups;
  return row_groups * TilesPerWarpgroup(plan, phase) * BlocksOf(plan, phase) * kWarpgroupThreads *
         kFragmentBytes;
}

// Sums that warpgroups which split a phase's k hand over.
int64_t ExchangeBytes(const FusionPlan& plan, const PhasePartition& phase, int64_t matrices) {
  return (phase.k_warpgroups - 1) * matrices * PassBytes(plan, phase);
}

int64_t EdgeBarriers(const FusionPlan& plan) {
  constexpr int64_t kWarpsPerWarpgroup = 4;
  if (!plan.gathers_over_grid()) return plan.down.passes;
  if (plan.down.k_ctas == 1) return 0;
  return 1 + plan.consumer_warpgroups / plan.down.k_warpgroups * kWarpsPerWarpgroup;
}

int64_t ActivationSlotBytes(const FusionPlan& plan) {
  const int k = plan.gathers_over_grid() ? std::max(plan.up.k_per_slot, plan.down.k_per_slot)
                                         : plan.up.k_per_slot;
  return int64_t{plan.token_tile} * k * kElementBytes;
}

}  // namespace

int TilesPerWarpgroup(const FusionPlan& plan, const PhasePartition& phase) {
  const int row_groups = plan.consumer_warpgroups / phase.k_warpgroups;
  return static_cast<int>(CeilDiv(RowTilesOf(plan, phase), row_groups));
}

int RowTilesOf(const FusionPlan& plan, const PhasePartition& phase) {
  if (plan.mma_rows == MmaRows::kTokens) return plan.token_tile / kWgmmaRows;
  return static_cast<int>(CeilDiv(phase.rows_per_pass, kWgmmaRows));
}

int BlocksOf(const FusionPlan& plan, const PhasePartition& phase) {
  return (plan.mma_rows == MmaRows::kTokens ? phase.rows_per_pass : plan.token_tile) / 8;
}

int64_t UpSlotBytes(const FusionPlan& plan) {
  return plan.problem.num_up_matrices() * plan.up.rows_per_pass * plan.up.k_per_slot *
         kElementBytes;
}

int64_t DownSlotBytes(const FusionPlan& plan) {
  return int64_t{plan.down.rows_per_pass} * plan.down.k_per_slot * kElementBytes;
}

Footprint FootprintOf(const FusionPlan& plan) {
  const bool has_norm = plan.problem.norm != Norm::kNone;
  Footprint f;
  f.slot_bytes = RoundUp(std::max(UpSlotBytes(plan), DownSlotBytes(plan)), kSmemAlignment);
  f.activation_offset = f.ring_offset + plan.ring_slots * f.slot_bytes;
  f.activation_slot_bytes = ActivationSlotBytes(plan);
  f.intermediate_offset = f.activation_offset + plan.activation_slots * f.activation_slot_bytes;
  const int64_t held_rows = plan.gathers_over_grid() ? plan.up.rows_per_pass : plan.chunk_rows();
  f.intermediate_bytes = held_rows * plan.token_tile * kElementBytes;
  f.exchange_offset = f.intermediate_offset + f.intermediate_bytes;
  f.exchange_bytes = std::max(ExchangeBytes(plan, plan.up, plan.problem.num_up_matrices()),
                              ExchangeBytes(plan, plan.down, 1));
  f.scratch_offset = f.exchange_offset + f.exchange_bytes;
  f.scratch_bytes = has_norm ? kScratchBytes : 0;
  f.barrier_offset = f.scratch_offset + f.scratch_bytes;
  f.barrier_bytes =
      (2 * plan.ring_slots + 2 * plan.activation_slots + EdgeBarriers(plan) + (has_norm ? 1 : 0)) *
      kBarrierBytes;
  f.total_bytes = f.barrier_offset + f.barrier_bytes + kSmemAlignment;
  return f;
}

RegisterSplit SplitRegisters(const FusionPlan& plan) {
  if (plan.token_tile < kSplitTokenTile) return {};
  const int warpgroups = plan.consumer_warpgroups + 1;
  const int launched = kRegistersPerSm / plan.threads() / kRegisterGranule * kRegisterGranule;
  const int producer = plan.gathers_over_grid() ? kProducerRegisters : kCombiningProducerRegisters;
  const int consumer = (launched * warpgroups - producer) / plan.consumer_warpgroups /
                       kRegisterGranule * kRegisterGranule;
  if (consumer <= launched) return {};
  return {.producer = producer, .consumer = std::min(consumer, kMaxSplitRegisters)};
}

int64_t ReceivedBytes(const FusionPlan& plan) {
  return (plan.down.k_ctas - 1) * PassBytes(plan, plan.down) / plan.down.k_ctas;
}

int64_t PartialBytes(const FusionPlan& plan) {
  if (plan.combine != Combine::kOrderedPartials) return 0;
  return int64_t{plan.grid_ctas()} * plan.down.passes * PassBytes(plan, plan.down);
}

int64_t GatheredBytes(const FusionPlan& plan) {
  if (!plan.gathers_over_grid()) return 0;
  return plan.token_tile * plan.problem.intermediate.value() * kElementBytes;
}

int64_t GatheredRowsOffset(const FusionPlan& plan) {
  return kWorkspaceHeaderBytes + PartialBytes(plan);
}

int64_t NormalizedRowsOffset(const FusionPlan& plan) {
  return GatheredRowsOffset(plan) + GatheredBytes(plan);
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
