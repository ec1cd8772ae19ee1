#include "src/plan/footprint.h"

#include <gtest/gtest.h>

#include "src/plan/legality.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

// Computed by hand from kernels_templates/tile/ffn_smem.cuh.
TEST(FootprintTest, CarvesAsTheKernelDoes) {
  const Footprint f = FootprintOf(SomePlan());
  EXPECT_EQ(f.slot_bytes, 256 * 128);  // down's slot is larger than up's 2 * 96 * 128
  EXPECT_EQ(f.activation_offset, 6 * 32768);
  EXPECT_EQ(f.activation_slot_bytes, 8 * 128);
  EXPECT_EQ(f.intermediate_offset, 6 * 32768 + 8 * 1024);
  EXPECT_EQ(f.intermediate_bytes, 8 * 12 * 128);
  EXPECT_EQ(f.exchange_bytes, 0);
  EXPECT_EQ(f.barrier_offset, f.intermediate_offset + 12288);
  EXPECT_EQ(f.barrier_bytes, (12 + 16 + 2) * 8);
  EXPECT_EQ(f.total_bytes, f.barrier_offset + 240 + 1024);
}

TEST(FootprintTest, CarvesWhatASplitOverCtasNeeds) {
  const FusionPlan plan = SomeSplitPlan();
  const Footprint f = FootprintOf(plan);
  EXPECT_EQ(f.slot_bytes, 2 * 96 * 128);
  EXPECT_EQ(f.intermediate_offset, 4 * 24576 + 4 * 64 * 128);
  EXPECT_EQ(f.intermediate_bytes, 96 * 64 * 2);
  // Token rows: 1 tile x 2 matrices x 12 blocks of weights x 128 threads x 16 bytes.
  EXPECT_EQ(f.exchange_bytes, 2 * 12 * 2048);
  // Rings of 4 and 4; peers have space, and each of the 4 warps with sums has received.
  EXPECT_EQ(f.barrier_bytes, (8 + 8 + 1 + 4) * 8);
  FusionPlan whole = plan;
  whole.down.k_ctas = 1;
  whole.combine = Combine::kNone;
  EXPECT_EQ(FootprintOf(whole).barrier_bytes, (8 + 8) * 8);
}

TEST(FootprintTest, CountsTheSumsOfPeersThatSplitK) {
  FusionPlan plan = SomeSplitPlan();
  EXPECT_EQ(ReceivedBytes(plan), 3 * (18 * 2048 / 4));  // a quarter of each peer's 18 blocks
  EXPECT_EQ(PartialBytes(plan), 0);
  EXPECT_EQ(WorkspaceBytes(plan), GatheredRowsOffset(plan) + GatheredBytes(plan));
  plan.mma_rows = MmaRows::kWeights;  // 144 rows are 3 tiles, tokens 8 blocks
  EXPECT_EQ(ReceivedBytes(plan), 3 * (3 * 8 * 2048 / 4));
  plan.down.k_ctas = 1;
  EXPECT_EQ(ReceivedBytes(plan), 0);
}

TEST(FootprintTest, TilesAndBlocksFollowTheOperandInRows) {
  FusionPlan plan = SomeSplitPlan();
  EXPECT_EQ(RowTilesOf(plan, plan.down), 1);
  EXPECT_EQ(BlocksOf(plan, plan.down), 18);
  plan.token_tile = 128;
  EXPECT_EQ(RowTilesOf(plan, plan.down), 2);
  EXPECT_EQ(TilesPerWarpgroup(plan, plan.down), 2);  // of the group of two that split k
  EXPECT_EQ(BlocksOf(plan, plan.down), 18);
  plan.mma_rows = MmaRows::kWeights;
  EXPECT_EQ(RowTilesOf(plan, plan.down), 3);
  EXPECT_EQ(BlocksOf(plan, plan.down), 16);
}

TEST(FootprintTest, CountsTheExchangeOfKSharers) {
  FusionPlan plan = SomePlan();
  plan.token_tile = 16;
  plan.consumer_warpgroups = 4;
  plan.up.k_warpgroups = 2;
  // 1 giving group x 2 row groups x 1 tile x 2 matrices x 2 token blocks x 128 threads x 16 bytes
  EXPECT_EQ(FootprintOf(plan).exchange_bytes, 2 * 2 * 2 * 2048);
  EXPECT_EQ(TilesPerWarpgroup(plan, plan.up), 1);
  EXPECT_EQ(TilesPerWarpgroup(plan, plan.down), 1);
}

TEST(FootprintTest, RoundsPlainSlotsUpTo1024) {
  FusionPlan plan = SomePlan();
  plan.problem.form = FfnForm::kPlain;
  plan.up.rows_per_pass = 8;
  plan.down.rows_per_pass = 8;
  EXPECT_EQ(UpSlotBytes(plan), 1024);
  EXPECT_EQ(FootprintOf(plan).slot_bytes, 1024);
}

TEST(FootprintTest, CountsPartialSums) {
  // 120 CTAs x 2 passes x 2 warpgroups x 2 tiles x 1 token block x 128 threads x 16 bytes
  EXPECT_EQ(PartialBytes(SomePlan()), int64_t{120} * 2 * 2 * 2 * 2048);
  EXPECT_EQ(WorkspaceBytes(SomePlan()), PartialBytes(SomePlan()) + kWorkspaceHeaderBytes);
}

TEST(FootprintTest, CarvesScratchAndABarrierForANorm) {
  const Footprint without = FootprintOf(SomePlan());
  EXPECT_EQ(without.scratch_bytes, 0);
  FusionPlan plan = SomePlan();
  plan.problem.norm = Norm::kRms;
  const Footprint f = FootprintOf(plan);
  EXPECT_EQ(f.scratch_offset, without.barrier_offset);
  EXPECT_EQ(f.scratch_bytes, 64);
  EXPECT_EQ(f.barrier_offset, without.barrier_offset + 64);
  EXPECT_EQ(f.barrier_bytes, without.barrier_bytes + 8);
  EXPECT_EQ(f.total_bytes, without.total_bytes + 72);
}

TEST(FootprintTest, NothingElseOfTheProblemTakesSharedMemory) {
  FusionPlan plan = SomePlan();
  const int64_t bytes = FootprintOf(plan).total_bytes;
  plan.problem.dtype = DType::kFp16;
  plan.problem.up_bias = plan.problem.down_bias = true;
  plan.problem.rounding = Rounding::kEngine;
  plan.problem.residual_mode = ResidualMode::kAddAfter;
  EXPECT_EQ(FootprintOf(plan).total_bytes, bytes);
}

// Rows of 8 tokens x 4096 elements x 2 bytes, a copy a cluster.
TEST(FootprintTest, KeepsRowsInTheWorkspaceForNormsAndTheirResiduals) {
  constexpr int64_t kRows = 8 * 4096 * 2;
  FusionPlan plan = SomePlan();
  const int64_t bare = WorkspaceBytes(plan);
  EXPECT_EQ(NormalizedRowsOffset(plan), bare);
  plan.problem.residual_mode = ResidualMode::kAddAfter;
  EXPECT_EQ(WorkspaceBytes(plan), bare);
  plan.problem.norm = Norm::kLayer;
  EXPECT_EQ(WorkspaceBytes(plan), bare + 15 * kRows);
  plan.problem.residual_mode = ResidualMode::kAddBeforeNorm;
  EXPECT_EQ(WorkspaceBytes(plan), bare + 30 * kRows);
  plan.problem.norm = Norm::kRms;
  plan.problem.residual_mode = ResidualMode::kSandwich;
  EXPECT_EQ(WorkspaceBytes(plan), bare + 16 * kRows);
  EXPECT_EQ(NormalizedRowsOffset(plan), bare);
}

}  // namespace
}  // namespace fusebox
