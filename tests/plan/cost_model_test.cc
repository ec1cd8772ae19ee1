#include "src/plan/cost_model.h"

#include <gtest/gtest.h>

#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(CostModelTest, TheTermsAddUp) {
  const CostBreakdown cost = EstimateCost(SomePlan(), H200());
  EXPECT_DOUBLE_EQ(cost.us(), cost.boundary_us + cost.prologue_us + cost.up.us() + cost.edge_us +
                                  cost.down.us() - cost.hidden_us + cost.imbalance_us +
                                  cost.combine_us - cost.overlap_us);
  EXPECT_GT(cost.us(), cost.floor_us);
  EXPECT_LT(cost.us(), 1.3 * cost.floor_us);
  EXPECT_NEAR(cost.floor_us, 59.03, 0.01);
  EXPECT_EQ(cost.up.bound(), "hbm");
}

TEST(CostModelTest, AShortRingCostsBandwidthAndHidesLess) {
  FusionPlan shallow = SomePlan();
  shallow.ring_slots = 3;
  shallow.slots_in_flight = 3;
  const CostBreakdown deep = EstimateCost(SomePlan(), H200());
  const CostBreakdown cost = EstimateCost(shallow, H200());
  EXPECT_GT(cost.up.hbm_us, deep.up.hbm_us);
  EXPECT_LE(cost.hidden_us, cost.edge_us + 1e-9);
}

TEST(CostModelTest, APlainBoundaryCostsMore) {
  const CostBreakdown plain = EstimateCost(SomePlan(), H200(), Boundary::kPlain);
  EXPECT_DOUBLE_EQ(plain.boundary_us, 2.4);
  EXPECT_GT(plain.us(), EstimateCost(SomePlan(), H200()).us());
}

TEST(CostModelTest, AnUnevenDealCostsMore) {
  FusionPlan even = SomePlan();
  even.problem.intermediate = DimN(11520);  // 15 clusters of 768, all full
  EXPECT_DOUBLE_EQ(EstimateCost(even, H200()).imbalance_us, 0.0);
  EXPECT_GT(EstimateCost(SomePlan(), H200()).imbalance_us, 0.0);
}

TEST(CostModelTest, MoreTokensCostMoreCombine) {
  FusionPlan wide = SomePlan();
  wide.token_tile = 32;
  EXPECT_GT(EstimateCost(wide, H200()).combine_us, EstimateCost(SomePlan(), H200()).combine_us);
}

TEST(CostModelTest, PrintsEveryTerm) {
  const std::string json = EstimateCost(SomePlan(), H200()).ToJson();
  for (const char* term :
       {"\"us\":", "\"floor_us\":", "\"ratio\":", "\"boundary_us\":", "\"prologue_us\":", "\"up\":",
        "\"bound\":\"hbm\"", "\"hbm_us\":", "\"producer_us\":", "\"edge_us\":", "\"hidden_us\":",
        "\"imbalance_us\":", "\"combine_us\":", "\"overlap_us\":"}) {
    EXPECT_NE(json.find(term), std::string::npos) << term << " in " << json;
  }
}

}  // namespace
}  // namespace fusebox
