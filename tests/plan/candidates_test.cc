#include "src/plan/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/plan/legality.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(CandidatesTest, HaveAFixedOrderAndNoDuplicates) {
  const std::vector<FusionPlan> plans = EnumerateCandidates(SomePlan().problem, 8, H200());
  EXPECT_EQ(plans, EnumerateCandidates(SomePlan().problem, 8, H200()));
  EXPECT_GT(plans.size(), 1000u);
  const std::set<FusionPlan> distinct(plans.begin(), plans.end());
  EXPECT_EQ(distinct.size(), plans.size());
}

TEST(CandidatesTest, CoverEveryClusterSizeAndResidency) {
  const DeviceSpec device = H200();
  std::set<std::pair<int, int>> legal;
  for (const FusionPlan& plan : EnumerateCandidates(SomePlan().problem, 8, device)) {
    if (CheckLegal(plan, device).ok()) legal.insert({plan.cluster_size, plan.resident_ctas_per_sm});
  }
  for (int size : {1, 2, 4, 8, 16}) {
    EXPECT_TRUE(legal.contains({size, 1})) << size;
  }
  EXPECT_TRUE(legal.contains({8, 2}));
}

TEST(CandidatesTest, FillSharedMemory) {
  const DeviceSpec device = H200();
  for (const FusionPlan& plan : EnumerateCandidates(SomePlan().problem, 8, device)) {
    FusionPlan deeper = plan;
    ++deeper.ring_slots;
    const int64_t stream =
        64 + int64_t{plan.down.passes} * CeilDiv(plan.chunk_rows(), plan.down.k_per_slot);
    const bool is_deepest =
        plan.ring_slots >= std::min<int64_t>(32, stream) || plan.ring_slots == 0 ||
        FootprintOf(deeper).total_bytes > SmemBudget(device, plan.resident_ctas_per_sm);
    ASSERT_TRUE(is_deepest || plan.up.k_per_slot > 64) << plan.Summary();
  }
}

}  // namespace
}  // namespace fusebox
