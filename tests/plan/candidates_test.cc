#include "src/plan/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/plan/legality.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(CandidatesTest, HaveAFixedOrderAndNoDuplicates) {
  const std::vector<FusionPlan> plans = EnumerateCandidates(SomePlan().problem, 8, H200());
  EXPECT_EQ(plans, EnumerateCandidates(SomePlan().problem, 8, H200()));
  EXPECT_GT(plans.size(), 1000u);
  EXPECT_LT(plans.size(), 20000u);  // planning an op in 20 ms
  const std::set<FusionPlan> distinct(plans.begin(), plans.end());
  EXPECT_EQ(distinct.size(), plans.size());
}

TEST(CandidatesTest, CoverClusterSizesPatienceAndDepthsOfTheStream) {
  const DeviceSpec device = H200();
  std::set<int> sizes, patience, in_flight;
  int num_over_grid = 0;
  for (const FusionPlan& plan : EnumerateCandidates(SomePlan().problem, 8, device)) {
    if (!CheckLegal(plan, device).ok()) continue;
    num_over_grid += plan.gathers_over_grid() ? 1 : 0;
    if (plan.gathers_over_grid()) continue;
    sizes.insert(plan.cluster_size);
    patience.insert(plan.combine_patience_cycles);
    if (plan.up.k_per_slot == 64 && plan.up.rows_per_pass == 96) {
      in_flight.insert(plan.slots_in_flight);
    }
  }
  EXPECT_EQ(sizes, (std::set<int>{4, 8, 16}));  // smaller ones are too many for the combine
  EXPECT_EQ(patience, (std::set<int>{0, 50000}));
  EXPECT_GT(num_over_grid, 100);
  EXPECT_TRUE(in_flight.contains(3));
  EXPECT_GE(in_flight.size(), 3u);
}

// Few enough outputs that a cluster of 8 has them in one pass.
const FfnProblem kSmall = {.hidden = DimK(1024), .intermediate = DimN(3072)};

// Of the ways to serve many tokens, which tiles have which.
TEST(CandidatesTest, SplitMulticastAndPutTokensInRowsWhereTokensAreMany) {
  for (const int tile : kTokenTiles) {
    std::set<int> splits;
    std::set<MmaRows> rows_over_grid, rows_in_clusters;
    for (const FusionPlan& plan : EnumerateCandidates(kSmall, tile, H200())) {
      // Each copies whole groups of 8 tokens; of 64 there are not enough for 16 CTAs.
      const bool shares = plan.cluster_size > 1 && tile % (8 * plan.cluster_size) == 0;
      ASSERT_EQ(plan.activation_multicast, tile >= 64 && shares) << plan.Summary();
      ASSERT_EQ(plan.up.k_ctas, 1) << plan.Summary();
      ASSERT_EQ(plan.combine == Combine::kDsmReduceScatter, plan.down.k_ctas > 1) << plan.Summary();
      splits.insert(plan.down.k_ctas);
      (plan.gathers_over_grid() ? rows_over_grid : rows_in_clusters).insert(plan.mma_rows);
    }
    EXPECT_EQ(splits, (std::set<int>{1, 2, 4, 8})) << tile;
    EXPECT_EQ(rows_in_clusters, std::set<MmaRows>{MmaRows::kWeights}) << tile;
    EXPECT_EQ(rows_over_grid.contains(MmaRows::kTokens), tile >= 64) << tile;
    EXPECT_TRUE(rows_over_grid.contains(MmaRows::kWeights)) << tile;
  }
}

TEST(CandidatesTest, HaveLegalPlansOfEveryKindWhereTokensAreMany) {
  std::set<std::tuple<MmaRows, int, bool>> kinds;
  for (const FusionPlan& plan : EnumerateCandidates(kSmall, 128, H200())) {
    if (!plan.gathers_over_grid() || !CheckLegal(plan, H200()).ok()) continue;
    kinds.emplace(plan.mma_rows, plan.down.k_ctas, plan.activation_multicast);
  }
  for (const MmaRows rows : {MmaRows::kWeights, MmaRows::kTokens}) {
    for (const int k_ctas : {2, 4, 8})
      EXPECT_TRUE(kinds.contains({rows, k_ctas, true})) << ToString(rows) << " " << k_ctas;
    EXPECT_TRUE(kinds.contains({rows, 1, false})) << ToString(rows);
  }
}

TEST(CandidatesTest, KeepWeightsStoredInputMajorInRows) {
  FfnProblem problem = SomePlan().problem;
  problem.layout = WeightLayout::kInOut;
  for (const FusionPlan& plan : EnumerateCandidates(problem, 128, H200()))
    ASSERT_EQ(plan.mma_rows, MmaRows::kWeights) << plan.Summary();
}

TEST(CandidatesTest, IncludeAPlanMeasuredToBeGood) {
  const std::vector<FusionPlan> plans = EnumerateCandidates(SomePlan().problem, 8, H200());
  const auto alike = [](const FusionPlan& plan) {
    FusionPlan measured = SomePlan();
    measured.activation_slots = plan.activation_slots;
    return plan == measured;
  };
  EXPECT_NE(std::find_if(plans.begin(), plans.end(), alike), plans.end());
}

TEST(CandidatesTest, FillSharedMemory) {
  const DeviceSpec device = H200();
  for (const FusionPlan& plan : EnumerateCandidates(SomePlan().problem, 8, device)) {
    FusionPlan deeper = plan;
    ++deeper.activation_slots;
    int64_t streamed = plan.up.passes * CeilDiv(plan.problem.hidden.value(), plan.up.k_per_slot);
    if (plan.gathers_over_grid())
      streamed += plan.down.passes * CeilDiv(plan.down_k(), plan.down.k_per_slot);
    const bool is_full = plan.activation_slots >= std::min<int64_t>(16, streamed) ||
                         FootprintOf(deeper).total_bytes > device.smem_per_cta_bytes;
    ASSERT_TRUE(is_full) << plan.Summary();
  }
}

}  // namespace
}  // namespace fusebox
