// A profile that promises more than the GPU holds: the next plan of the ladder is loaded, and every
// answer about the op is about that one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/cache/cubin_store.h"
#include "tests/compile/small_kernel.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class EngineLadderTest : public EngineFixture {
 protected:
  static constexpr int kTokens = 5;  // of tile 0

  // An op whose kernels are in the cache, on a GPU that just holds what the rung needs.
  void MakeOpOnAGpuFor(size_t rung) {
    engine_ = MakeEngine();
    op_ = MakeOp(engine_);
    WarmCache(op_);
    ASSERT_EQ(op_->ffn->NumRungs(0), kMaxRungs);
    const PlannedKernel& planned = op_->ffn->Planned(0, rung);
    const FusionPlan& plan = planned.report.best.plan;
    driver_.resident_ctas = ClustersNeeded(plan, planned.residency) * plan.cluster_size;
  }

  nlohmann::json PlanJson() {
    size_t needed = 0;
    EXPECT_EQ(fusebox_op_plan_json(op_.get(), kTokens, nullptr, 0, &needed), FUSEBOX_OK);
    std::string text(needed, '\0');
    EXPECT_EQ(fusebox_op_plan_json(op_.get(), kTokens, text.data(), needed, nullptr), FUSEBOX_OK);
    return nlohmann::json::parse(text.c_str());
  }

  std::vector<std::string> LinesWith(const std::string& part) {
    std::vector<std::string> lines;
    for (const std::string& line : LogLines()) {
      if (absl::StrContains(line, part)) lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(EngineLadderTest, LoadsTheFirstRungThatFits) {
  for (size_t rung = 0; rung < kMaxRungs; ++rung) {
    MakeOpOnAGpuFor(rung);
    ASSERT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
    ASSERT_NE(op_->ffn->Ready(0), nullptr);
    EXPECT_EQ(op_->ffn->Ready(0)->rung, rung);
    EXPECT_TRUE(IsReady(op_, kTokens));
    EXPECT_EQ(Stats(engine_).kernels_ready, 1u);
    EXPECT_EQ(Stats(engine_).kernels_failed, 0u);
    EXPECT_EQ(driver_.num_libraries, 1) << "a kernel that does not fit is unloaded";
    op_.reset();
    engine_.reset();
  }
}

TEST_F(EngineLadderTest, LaunchesAsTheRungInForceWasPlanned) {
  for (size_t rung = 0; rung < kMaxRungs; ++rung) {
    MakeOpOnAGpuFor(rung);
    binding_ = Bind(op_);  // before anybody knows the rung
    ASSERT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
    const fusebox_ffn_args args = Args(op_, kTokens);
    ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_OK)
        << fusebox_last_error_message();
    const FakeLaunch& launch = driver_.launches.back();
    const PlannedKernel& planned = op_->ffn->Planned(0, rung);
    const FusionPlan& plan = planned.report.best.plan;
    EXPECT_EQ(launch.grid, static_cast<unsigned>(plan.grid_ctas()));
    EXPECT_EQ(launch.cluster, static_cast<unsigned>(plan.cluster_size));
    EXPECT_EQ(launch.smem, static_cast<unsigned>(planned.source.launch.dynamic_smem_bytes));
    EXPECT_EQ(ReadFakeMap(launch.params.gate).box_rows,
              static_cast<unsigned>(plan.up.rows_per_pass));
    EXPECT_EQ(ReadFakeMap(launch.params.up).box_rows, static_cast<unsigned>(plan.up.rows_per_pass));
    EXPECT_EQ(ReadFakeMap(launch.params.down).box_rows,
              static_cast<unsigned>(plan.down.rows_per_pass));
    binding_.reset();
    op_.reset();
    engine_.reset();
  }
}

TEST_F(EngineLadderTest, ItsWorkspaceServesEveryRung) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  size_t bytes = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), kTokens, &bytes), FUSEBOX_OK);
  for (size_t rung = 0; rung < op_->ffn->NumRungs(0); ++rung) {
    EXPECT_GE(bytes, static_cast<size_t>(op_->ffn->Planned(0, rung).source.workspace_bytes));
  }
}

TEST_F(EngineLadderTest, SaysInOneLineWhichPlanGaveWayToWhich) {
  MakeOpOnAGpuFor(2);
  ASSERT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
  const std::vector<std::string> lines = LinesWith("event=next_rung");
  ASSERT_EQ(lines.size(), 2u);
  for (size_t rung = 0; rung < 2; ++rung) {
    EXPECT_THAT(lines[rung], HasSubstr(op_->ffn->Planned(0, rung).report.best.plan.Summary()));
    EXPECT_THAT(lines[rung], HasSubstr(op_->ffn->Planned(0, rung + 1).report.best.plan.Summary()));
    EXPECT_THAT(lines[rung], HasSubstr("co_resident: "));
  }
}

TEST_F(EngineLadderTest, ItsPlanJsonShowsTheRungInForce) {
  MakeOpOnAGpuFor(1);
  const nlohmann::json before = PlanJson();
  for (const auto& rung : before["ladder"]) EXPECT_FALSE(rung["in_force"]);
  EXPECT_EQ(before["digest"], op_->ffn->Planned(0, 0).source.Digest().ToHex());
  ASSERT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
  const nlohmann::json after = PlanJson();
  ASSERT_EQ(after["ladder"].size(), kMaxRungs);
  EXPECT_FALSE(after["ladder"][0]["in_force"]);
  EXPECT_TRUE(after["ladder"][1]["in_force"]);
  EXPECT_FALSE(after["ladder"][2]["in_force"]);
  EXPECT_EQ(after["ladder"][2]["clusters_needed"], 1);
  EXPECT_EQ(after["digest"], op_->ffn->Planned(0, 1).source.Digest().ToHex());
  EXPECT_EQ(after["search"]["best"]["summary"], op_->ffn->Planned(0, 1).report.best.plan.Summary());
}

TEST_F(EngineLadderTest, DeclinesByNameWhatNoRungFits) {
  MakeOpOnAGpuFor(0);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, kTokens);
  driver_.resident_ctas = 0;
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Prepare(op_, {kTokens}), FUSEBOX_DECLINED);
    EXPECT_THAT(fusebox_last_error_message(), HasSubstr("co_resident: none of the 3 plans of "));
    EXPECT_THAT(fusebox_last_error_message(), HasSubstr("run your own path"));
  }
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_DECLINED);
  EXPECT_THAT(fusebox_last_error_message(), HasSubstr("co_resident: "));
  EXPECT_FALSE(IsReady(op_, kTokens));
  EXPECT_EQ(Stats(engine_).kernels_failed, 1u) << "the second prepare asks the GPU no more";
  EXPECT_EQ(driver_.num_libraries, 0);
  EXPECT_EQ(driver_.num_launches, 0);
}

TEST_F(EngineLadderTest, ARungThatIsInNoCacheIsNotPassedOver) {
  MakeOpOnAGpuFor(2);
  std::filesystem::remove_all(cache_root_);
  const auto silent = EventLog::Silent();
  CubinStore store({cache_root_}, silent.get());
  for (const size_t rung :
       {size_t{0}, size_t{2}}) {  // with the second, ranks would differ by cache
    ASSERT_TRUE(store.Store(op_->ffn->Planned(0, rung).source, MadeUpKernel()).ok());
  }
  ASSERT_NE(op_->ffn->Planned(0, 1).source.Digest(), op_->ffn->Planned(0, 2).source.Digest());
  EXPECT_EQ(Prepare(op_, {kTokens}), FUSEBOX_NOT_READY);
  EXPECT_THAT(fusebox_last_error_message(), HasSubstr("FUSEBOX_COMPILE=never"));
}

TEST_F(EngineLadderTest, ADriversFailureIsNotTakenForAGpuThatIsTooSmall) {
  MakeOpOnAGpuFor(0);
  driver_.failures["cuOccupancyMaxActiveClusters"] = CUDA_ERROR_UNKNOWN;
  EXPECT_EQ(Prepare(op_, {kTokens}), FUSEBOX_CUDA_FAILED);
  driver_.failures.clear();
  EXPECT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(op_->ffn->Ready(0)->rung, 0u);
}

TEST_F(EngineLadderTest, EqualOpsShareTheRungsKernel) {
  MakeOpOnAGpuFor(2);
  const OpPointer twin = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {kTokens}), FUSEBOX_OK);
  ASSERT_EQ(Prepare(twin, {kTokens}), FUSEBOX_OK);
  EXPECT_EQ(op_->ffn->Kernel(0), twin->ffn->Kernel(0));
  EXPECT_EQ(twin->ffn->Ready(0)->rung, 2u);
}

TEST_F(EngineLadderTest, AFrozenEngineStaysNotReadyForWhatDoesNotFit) {
  MakeOpOnAGpuFor(0);
  driver_.resident_ctas = 0;
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, kTokens);
  ASSERT_EQ(fusebox_engine_freeze(engine_.get()), FUSEBOX_OK);
  EXPECT_EQ(Prepare(op_, {kTokens}), FUSEBOX_NOT_READY);
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  EXPECT_FALSE(IsReady(op_, kTokens));
}

TEST_F(EngineLadderTest, AnEngineWithoutAGpuMakesEveryRung) {
  const auto planner = MakeEngine([](EngineSettings& s) {
    s.device_ordinal = kNoDevice;
    s.config.device_profile = "h200-sxm";
  });
  const OpPointer op = MakeOp(planner);
  const auto silent = EventLog::Silent();
  CubinStore store({cache_root_}, silent.get());
  ASSERT_TRUE(store.Store(op->ffn->Planned(0, 0).source, MadeUpKernel()).ok());
  EXPECT_EQ(Prepare(op, {kTokens}), FUSEBOX_NOT_READY) << "the lower rungs are missing";
  WarmCache(op);
  EXPECT_EQ(Prepare(op, {kTokens}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_TRUE(IsReady(op, kTokens));
}

}  // namespace
}  // namespace fusebox
