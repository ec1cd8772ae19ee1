#include "src/plan/fusion_pays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/status.h"
#include "src/plan/forced_plans.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

// A report whose fused path takes `fused_us`, and whose unfused path takes `unfused_us`.
SearchReport ReportOf(double fused_us, double unfused_us) {
  SearchReport report;
  report.best.plan = SomePlan();
  report.best.cost.launch_us = fused_us;
  report.unfused.up_us = unfused_us;
  return report;
}

TEST(FusionPaysTest, DeclinesWhatIsSlowerByANanosecond) {
  EXPECT_TRUE(CheckFusionPays(ReportOf(10, 20), H200()).ok());
  EXPECT_TRUE(CheckFusionPays(ReportOf(10, 10), H200()).ok());
  EXPECT_TRUE(CheckFusionPays(ReportOf(10.0004, 10), H200()).ok());  // 0.4 ns: equal
  EXPECT_TRUE(IsDeclined(CheckFusionPays(ReportOf(10.001, 10), H200())));
}

TEST(FusionPaysTest, TheSentenceHasWhatWasAskedBothTimesAndWhatToDo) {
  const absl::Status status = CheckFusionPays(ReportOf(88.234, 86.4), H200());
  EXPECT_EQ(status.message(),
            "fusion_pays: ffn_gated_silu_bf16_h4096_i11008 at token tile 8 is predicted to take "
            "88.23 us fused and 86.40 us as separate kernels on h200-sxm; run your own path at "
            "these token counts, or set FUSEBOX_DECLINE_SLOWER=0 to be served all the same");
}

TEST(FusionPaysTest, AForcedPlanStands) {
  SearchReport report = ReportOf(20, 10);
  report.chosen_by = ChosenBy::kForced;
  EXPECT_TRUE(CheckFusionPays(report, H200()).ok());
}

// By search, not by a made-up report: in layout in_out weights cannot be wgmma's columns.
TEST(FusionPaysTest, ReportsOfASearchCarryTheUnfusedPath) {
  const FfnProblem problem = {
      .hidden = DimK(4096), .intermediate = DimN(11008), .layout = WeightLayout::kInOut};
  for (const int tile : {8, 128}) {
    const SearchReport report = Search(problem, tile, H200()).value();
    EXPECT_EQ(report.unfused.us(), EstimateUnfused(problem, tile, H200()).us());
    EXPECT_EQ(CheckFusionPays(report, H200()).ok(), tile == 8);
    const FusionPlan& best = report.best.plan;
    const SearchReport forced =
        SearchForced(problem, tile, H200(), ForcedPlans::Parse(best.ToJson()).value()).value();
    EXPECT_EQ(forced.unfused.us(), report.unfused.us());
    EXPECT_TRUE(CheckFusionPays(forced, H200()).ok());
  }
}

}  // namespace
}  // namespace fusebox
