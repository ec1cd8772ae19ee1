#include "src/plan/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(CostModelTest, TheTermsAddUp) {
  const CostBreakdown cost = EstimateCost(SomePlan(), H200());
  EXPECT_DOUBLE_EQ(cost.us(), cost.boundary_us + cost.launch_us + cost.up.us() + cost.edge_us +
                                  cost.down.us() + cost.combine_us);
  EXPECT_GT(cost.us(), cost.floor_us);
  EXPECT_LT(cost.us(), 1.3 * cost.floor_us);
  EXPECT_NEAR(cost.floor_us, 59.03, 0.01);
  EXPECT_EQ(cost.up.bound(), "hbm");
}

TEST(CostModelTest, APhaseTakesMoreThanItsLargestTermAndLessThanTheirSum) {
  const PhaseCost phase{.hbm_us = 3, .producer_us = 4};
  EXPECT_NEAR(phase.us(), std::pow(std::pow(3, 2.5) + std::pow(4, 2.5), 0.4), 1e-12);
  const PhaseCost even{1, 1, 1, 1, 1, 1};
  EXPECT_NEAR(even.us(), std::pow(6, 0.4), 1e-12);
  EXPECT_EQ(PhaseCost{}.us(), 0);
  EXPECT_EQ(phase.bound(), "producer");
}

TEST(CostModelTest, TooFewBytesInFlightCostBandwidthAndTooManyQueue) {
  double us[7] = {};
  for (int slots = 1; slots <= 6; ++slots) {
    FusionPlan plan = SomePlan();
    plan.ring_slots = 8;
    plan.slots_in_flight = slots;
    us[slots] = EstimateCost(plan, H200()).up.hbm_us;
  }
  EXPECT_GT(us[1], us[2]);
  EXPECT_GT(us[2], us[3]);
  EXPECT_LT(us[4], us[6]);
}

TEST(CostModelTest, ARingThatTheConsumersHoldCostsBandwidth) {
  FusionPlan shallow = SomePlan();
  shallow.ring_slots = 3;  // 1.35 are held, so fewer than the 3 in flight can be
  EXPECT_GT(EstimateCost(shallow, H200()).up.hbm_us, EstimateCost(SomePlan(), H200()).up.hbm_us);
}

TEST(CostModelTest, APlainBoundaryCostsMore) {
  const CostBreakdown plain = EstimateCost(SomePlan(), H200(), Boundary::kPlain);
  EXPECT_DOUBLE_EQ(plain.boundary_us, 1.4);
  EXPECT_GT(plain.us(), EstimateCost(SomePlan(), H200()).us());
}

TEST(CostModelTest, PatiencePaysWherePartialSumsAreMany) {
  FusionPlan plan = SomePlan();
  const double patient_at_8 = EstimateCost(plan, H200()).us();
  plan.token_tile = 32;
  const double patient_at_32 = EstimateCost(plan, H200()).us();
  plan.combine_patience_cycles = 0;
  EXPECT_GT(EstimateCost(plan, H200()).us(), patient_at_32 + 2);
  plan.token_tile = 8;
  EXPECT_NEAR(EstimateCost(plan, H200()).us(), patient_at_8, 0.5);
}

TEST(CostModelTest, MoreTokensCostMoreCombine) {
  FusionPlan wide = SomePlan();
  wide.combine_patience_cycles = 0;
  const double narrow_us = EstimateCost(wide, H200()).combine_us;
  wide.token_tile = 32;
  EXPECT_GT(EstimateCost(wide, H200()).combine_us, narrow_us);
}

TEST(CostModelTest, PrintsEveryTerm) {
  const std::string json = EstimateCost(SomePlan(), H200()).ToJson();
  for (const char* term :
       {"\"us\":", "\"floor_us\":", "\"ratio\":", "\"boundary_us\":", "\"launch_us\":", "\"up\":",
        "\"bound\":\"hbm\"", "\"hbm_us\":", "\"smem_us\":", "\"tensor_us\":", "\"producer_us\":",
        "\"activation_us\":", "\"edge_us\":", "\"down\":", "\"combine_us\":"}) {
    EXPECT_NE(json.find(term), std::string::npos) << term << " in " << json;
  }
}

}  // namespace
}  // namespace fusebox
