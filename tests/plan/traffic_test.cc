#include "src/plan/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/plan/work_list.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(TrafficTest, CountsEachWeightOnce) {
  const Traffic traffic = TrafficOf(SomePlan());
  EXPECT_EQ(traffic.up.hbm_bytes + traffic.down.hbm_bytes, SomePlan().problem.weight_bytes());
  EXPECT_EQ(traffic.down.waste_bytes, 0);
  EXPECT_EQ(traffic.up.slots, 64);
  EXPECT_EQ(traffic.up.boxes, 128);
  EXPECT_EQ(traffic.down.slots, 2 * 12);
  EXPECT_EQ(traffic.up.activation_bytes, int64_t{120} * 8 * 4096 * 2);
  EXPECT_EQ(traffic.up.widest_cta_bytes, int64_t{2} * 96 * 4096 * 2);
  EXPECT_EQ(traffic.down.widest_cta_bytes, int64_t{512} * 768 * 2);
  EXPECT_EQ(traffic.dsm_bytes_per_cta, 7 * 96 * 8 * 2);
}

TEST(TrafficTest, CountsWhatPartialBoxesReadTwice) {
  FusionPlan plan = SomePlan();
  plan.up.rows_per_pass = 104;  // a chunk of 832 = 13 boxes
  plan.num_clusters = 14;
  EXPECT_EQ(TrafficOf(plan).down.waste_bytes, 0);
  plan.up.rows_per_pass = 100;  // not legal, but countable: 800 columns are 12.5 boxes
  EXPECT_EQ(TrafficOf(plan).down.waste_bytes, 13 * 32 * 4096 * 2);
}

TEST(TrafficTest, CountsAPartOfKOfEachCtaThatSplitsIt) {
  const Traffic traffic = TrafficOf(SomeSplitPlan());
  EXPECT_EQ(traffic.up.hbm_bytes + traffic.down.hbm_bytes, SomeSplitPlan().problem.weight_bytes());
  EXPECT_EQ(traffic.down.widest_cta_bytes, int64_t{144} * 2752 * 2);
  EXPECT_EQ(traffic.down.activation_bytes, int64_t{116} * 64 * 2752 * 2);
  EXPECT_EQ(traffic.down.slots, 43);
  EXPECT_EQ(traffic.partial_bytes, 0);
}

TEST(TrafficTest, CountsTheColumnsOfTheOperandThatIsNotInRows) {
  FusionPlan plan = SomeSplitPlan();
  Traffic traffic = TrafficOf(plan);
  EXPECT_EQ(traffic.up.wgmma_columns, 2 * 96);  // gate and up in one instruction
  EXPECT_EQ(traffic.up.wgmmas, 64 * 4);
  EXPECT_EQ(traffic.up.wgmma_chain, 64 * 2);  // two warpgroups split k
  EXPECT_EQ(traffic.down.wgmma_columns, 144);
  EXPECT_EQ(traffic.down.wgmmas, 43 * 4);
  plan.up.rows_per_pass = 136;  // 272 columns are more than an instruction has
  traffic = TrafficOf(plan);
  EXPECT_EQ(traffic.up.wgmma_columns, 136);
  EXPECT_EQ(traffic.up.wgmmas, 2 * 64 * 4);
  plan.mma_rows = MmaRows::kWeights;
  traffic = TrafficOf(plan);
  EXPECT_EQ(traffic.up.wgmma_columns, 64);
  EXPECT_EQ(traffic.up.wgmmas, 2 * 3 * 64 * 4);  // three tiles of rows of each matrix
  EXPECT_EQ(TrafficOf(SomePlan()).down.wgmma_columns, 8);
}

// traffic.h: norms, biases and residuals are left out because small.
TEST(TrafficTest, IsTheSameForEveryVariantOfAForm) {
  FusionPlan plan = SomePlan();
  const Traffic bare = TrafficOf(plan);
  plan.problem.dtype = DType::kFp16;
  plan.problem.norm = Norm::kRms;
  plan.problem.residual_mode = ResidualMode::kAddBeforeNorm;
  plan.problem.up_bias = plan.problem.down_bias = true;
  const Traffic variant = TrafficOf(plan);
  EXPECT_EQ(variant.up.hbm_bytes, bare.up.hbm_bytes);
  EXPECT_EQ(variant.up.activation_bytes, bare.up.activation_bytes);
  EXPECT_EQ(variant.down.hbm_bytes, bare.down.hbm_bytes);
  EXPECT_EQ(variant.partial_bytes, bare.partial_bytes);
}

// Bytes that the work list's boxes read inside the matrices, the slow way.
int64_t BytesOfWorkList(const FusionPlan& plan) {
  const int64_t hidden = plan.problem.hidden.value();
  const int64_t intermediate = plan.problem.intermediate.value();
  int64_t bytes = 0;
  for (int cluster = 0; cluster < plan.num_clusters; ++cluster) {
    for (int rank = 0; rank < plan.cluster_size; ++rank) {
      const CtaWork work = WorkOf(plan, {.cluster = cluster, .rank = rank});
      for (const auto* phase : {&work.up, &work.down}) {
        const bool is_down = phase == &work.down;
        for (const WeightSlot& slot : *phase) {
          for (const WeightBox& box : slot.boxes) {
            const int64_t rows = (is_down ? hidden : intermediate) - box.row_begin;
            const int64_t columns = (is_down ? intermediate : hidden) - box.k_begin;
            bytes += std::clamp<int64_t>(rows, 0, box.num_rows) *
                     std::clamp<int64_t>(columns, 0, kBoxK) * 2;
          }
        }
      }
    }
  }
  return bytes;
}

TEST(TrafficTest, AgreesWithTheWorkList) {
  for (int rows : {80, 96, 120, 128}) {
    for (int64_t intermediate : {11008, 11000, 9728}) {
      FusionPlan plan = SomePlan();
      plan.problem.intermediate = DimN(intermediate);
      plan.problem.hidden = DimK(3000);
      plan.cluster_size = 2;
      plan.up.rows_per_pass = rows;
      plan.num_clusters = static_cast<int>(CeilDiv(intermediate, plan.chunk_rows()));
      plan.down = {.rows_per_pass = 256, .passes = 6, .k_per_slot = 128};
      const Traffic traffic = TrafficOf(plan);
      EXPECT_EQ(traffic.up.hbm_bytes + traffic.down.hbm_bytes, BytesOfWorkList(plan))
          << rows << " " << intermediate;
    }
  }
}

TEST(TrafficTest, AgreesWithTheWorkListWhereCtasSplitK) {
  for (const int k_ctas : {2, 4}) {
    for (const int64_t intermediate : {11008, 11000, 9728}) {
      FusionPlan plan = SomeSplitPlan();
      plan.problem.intermediate = DimN(intermediate);
      plan.problem.hidden = DimK(3000);
      plan.down.k_ctas = k_ctas;
      plan.down.k_per_slot = 128;
      const Traffic traffic = TrafficOf(plan);
      EXPECT_EQ(traffic.up.hbm_bytes + traffic.down.hbm_bytes, BytesOfWorkList(plan))
          << k_ctas << " " << intermediate;
    }
  }
}

}  // namespace
}  // namespace fusebox
