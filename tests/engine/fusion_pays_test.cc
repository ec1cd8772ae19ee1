// Token tiles at which fusion is predicted to lose: declined, and the op's other tiles served.
// 4096 x 11008 in layout in_out, whose weights cannot be wgmma's columns, at 128 tokens is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int32_t kPays = 8;
constexpr int32_t kDoesNotPay = 128;

std::string LastError() { return fusebox_last_error_message(); }

class EngineFusionPaysTest : public EngineFixture {
 protected:
  static fusebox_ffn_desc InOutDesc() {
    fusebox_ffn_desc desc = Desc();
    desc.hidden = 4096;
    desc.intermediate = 11008;
    desc.layout = FUSEBOX_LAYOUT_IN_OUT;
    return desc;
  }

  void SetUpOp(SlowerPlans slower) {
    engine_ = MakeEngine([&](EngineSettings& settings) {
      settings.config.decline_slower = slower == SlowerPlans::kDecline;
    });
    op_ = MakeOp(engine_, InOutDesc());
    WarmCache(op_);
  }
};

TEST_F(EngineFusionPaysTest, PrepareDeclinesTheTileAndServesTheOthers) {
  SetUpOp(SlowerPlans::kDecline);
  EXPECT_EQ(Prepare(op_, {kDoesNotPay, kPays}), FUSEBOX_DECLINED);
  EXPECT_THAT(LastError(),
              AllOf(StartsWith("fusion_pays: ffn_gated_silu_bf16_h4096_i11008"),
                    HasSubstr("at token tile 128"), HasSubstr(" us fused and "),
                    HasSubstr("run your own path"), HasSubstr("FUSEBOX_DECLINE_SLOWER=0")));
  EXPECT_FALSE(IsReady(op_, kDoesNotPay));
  EXPECT_TRUE(IsReady(op_, kPays));
  EXPECT_EQ(Prepare(op_, {kPays}), FUSEBOX_OK) << LastError();
}

TEST_F(EngineFusionPaysTest, ALaunchOfTheTileIsDeclinedAndEnqueuesNothing) {
  SetUpOp(SlowerPlans::kDecline);
  (void)Prepare(op_, {kPays});
  binding_ = Bind(op_, Weights(InOutDesc()));
  const fusebox_ffn_args args = Args(op_, kDoesNotPay);
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_DECLINED);
  EXPECT_THAT(LastError(), StartsWith("fusion_pays: "));
  EXPECT_EQ(Stats(engine_).launches_declined, 1u);
  EXPECT_EQ(Stats(engine_).launches, 0u);
}

TEST_F(EngineFusionPaysTest, TheWorkspaceIsForTheTilesThatAreServed) {
  SetUpOp(SlowerPlans::kDecline);
  size_t all = 0, served = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), 0, &all), FUSEBOX_OK) << LastError();
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), 64, &served), FUSEBOX_OK) << LastError();
  EXPECT_EQ(all, served);
  EXPECT_GT(all, 0u);
}

TEST_F(EngineFusionPaysTest, ItsPlanIsTheDecline) {
  SetUpOp(SlowerPlans::kDecline);
  size_t needed = 0;
  EXPECT_EQ(fusebox_op_plan_json(op_.get(), kDoesNotPay, nullptr, 0, &needed), FUSEBOX_DECLINED);
  EXPECT_THAT(LastError(), StartsWith("fusion_pays: "));
  bool is_logged = false;
  for (const std::string& line : LogLines()) {
    is_logged = is_logged || (absl::StrContains(line, "stage=plan event=declined") &&
                              absl::StrContains(line, "fusion_pays: "));
  }
  EXPECT_TRUE(is_logged);
}

TEST_F(EngineFusionPaysTest, IsServedAllTheSameWhereThatIsAskedFor) {
  SetUpOp(SlowerPlans::kServe);
  EXPECT_EQ(Prepare(op_, {kDoesNotPay, kPays}), FUSEBOX_OK) << LastError();
  EXPECT_TRUE(IsReady(op_, kDoesNotPay));
}

TEST_F(EngineFusionPaysTest, AForcedPlanIsServed) {
  SetUpOp(SlowerPlans::kServe);
  const size_t tile_index = TileIndexFor(kDoesNotPay);
  const std::string plan = op_->ffn->Planned(tile_index).report.best.plan.ToJson();
  engine_ = MakeEngine([&](EngineSettings& settings) {
    settings.config.decline_slower = true;
    settings.config.force_plan = plan;
  });
  op_ = MakeOp(engine_, InOutDesc());
  WarmCache(op_);
  EXPECT_EQ(Prepare(op_, {kDoesNotPay}), FUSEBOX_OK) << LastError();
  EXPECT_TRUE(IsReady(op_, kDoesNotPay));
}

}  // namespace
}  // namespace fusebox
