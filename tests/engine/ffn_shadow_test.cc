// FUSEBOX_SHADOW without a GPU: when a launch is compared, in which order, what is told of it, and
// that a server goes on where nothing can be compared. The comparison's report is the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/launch/reference_kernels.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr unsigned int kCompareThreads = 1024;  // no other kernel of the oracle has as many

class FfnShadowTest : public EngineFixture {
 protected:
  static inline CUstream const kStream = reinterpret_cast<CUstream>(0x77);

  void SetUpShadow(int period, const fusebox_ffn_desc& desc = Desc(),
                   const std::function<void(EngineSettings&)>& change = nullptr) {
    engine_ = MakeEngine([&](EngineSettings& settings) {
      settings.config.shadow_period = period;
      if (change) change(settings);
    });
    op_ = MakeOp(engine_, desc);
    WarmCache(op_);
    WarmReference(op_);
    ASSERT_EQ(Prepare(op_, {8, 16, 32}), FUSEBOX_OK) << fusebox_last_error_message();
    binding_ = Bind(op_, Weights(desc));
    driver_.on_plain_launch = [this](const FakePlainLaunch& launch) {
      steps_.push_back(launch.threads == kCompareThreads ? "compare" : "oracle");
      EXPECT_EQ(launch.stream, kStream);
      kernels_in_front_.push_back(driver_.num_launches);
      if (launch.threads != kCompareThreads) return;
      report_at_ = *static_cast<ReferenceReport**>(launch.parameters[5]);
      sequence_ = *static_cast<uint64_t*>(launch.parameters[6]);
      if (finishes_at_once_) Finish();
    };
  }

  // What the GPU does when the comparison has run.
  void Finish() {
    *report_at_ = report_;
    __atomic_store_n(&report_at_->sequence, sequence_, __ATOMIC_RELEASE);
  }

  fusebox_status Launch(int tokens = 5) {
    const fusebox_ffn_args args = Args(op_, tokens);
    return fusebox_ffn_launch(binding_.get(), &args, kStream);
  }

  std::vector<std::string> steps_;
  std::vector<int> kernels_in_front_;  // of each step
  bool finishes_at_once_ = true;
  ReferenceReport report_ = {};
  ReferenceReport* report_at_ = nullptr;
  uint64_t sequence_ = 0;
};

TEST_F(FfnShadowTest, ComparesEveryNthLaunchOfABinding) {
  SetUpShadow(3);
  for (int i = 0; i < 7; ++i) ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).shadow_launches, 2u);
  EXPECT_EQ(Stats(engine_).shadow_wrong, 0u);
  EXPECT_EQ(Stats(engine_).launches, 7u);
}

TEST_F(FfnShadowTest, RunsTheOracleInFrontOfTheKernelAndTheComparisonBehindIt) {
  SetUpShadow(1);
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_THAT(steps_, ElementsAre("oracle", "oracle", "oracle", "compare"));
  EXPECT_THAT(kernels_in_front_, ElementsAre(0, 0, 0, 1));
}

TEST_F(FfnShadowTest, ASecondNormIsAStepOfItsOwn) {
  fusebox_ffn_desc desc = Desc();
  desc.norm = FUSEBOX_NORM_RMS;
  desc.residual_mode = FUSEBOX_RESIDUAL_SANDWICH;
  SetUpShadow(1, desc);
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_THAT(steps_, ElementsAre("oracle", "oracle", "oracle", "oracle", "compare"));
}

TEST_F(FfnShadowTest, AWrongLaunchIsCountedAndToldInOneLine) {
  SetUpShadow(1);
  report_ = {
      .num_wrong = 12, .worst = 3 * 2048 + 17, .worst_ratio = 40.5, .got = 1.25, .expected = 2.5};
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).shadow_wrong, 1u);
  int num_lines = 0;
  for (const std::string& line : LogLines()) {
    if (line.find("event=wrong") == std::string::npos) continue;
    ++num_lines;
    EXPECT_THAT(line, AllOf(HasSubstr("stage=shadow"), HasSubstr("op=ffn_gated"),
                            HasSubstr("token=3"), HasSubstr("column=17"), HasSubstr("got=1.25"),
                            HasSubstr("expected=2.5"), HasSubstr("wrong_elements=12"),
                            HasSubstr("dsm_gather"), HasSubstr("tokens=5")));
  }
  EXPECT_EQ(num_lines, 1);
}

TEST_F(FfnShadowTest, NamesThePlanOfTheRungInForce) {
  driver_.resident_ctas = kPortableClusterSize;  // one cluster: the last rung, in waves
  SetUpShadow(1);
  report_ = {.num_wrong = 1, .worst_ratio = 2.0};
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  ASSERT_EQ(Stats(engine_).shadow_wrong, 1u);
  const ReadyKernel* const ready = op_->ffn->Ready(0);
  ASSERT_GT(ready->rung, 0u);
  EXPECT_THAT(LogLines().back(),
              HasSubstr(op_->ffn->Planned(0, ready->rung).report.best.plan.Summary()));
}

TEST_F(FfnShadowTest, AWrongSumAloneIsWrongToo) {
  fusebox_ffn_desc desc = Desc();
  desc.norm = FUSEBOX_NORM_RMS;
  desc.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM;
  SetUpShadow(1, desc);
  report_ = {.num_wrong_sums = 1, .first_wrong_sum = 2048 + 9};
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).shadow_wrong, 1u);
  EXPECT_THAT(LogLines().back(),
              AllOf(HasSubstr("output=residual_out"), HasSubstr("token=1"), HasSubstr("column=9")));
}

TEST_F(FfnShadowTest, OneComparisonAtATimeAndALaunchStaysDue) {
  SetUpShadow(2);
  finishes_at_once_ = false;
  for (int i = 0; i < 6; ++i) ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(steps_.size(), 4u);  // the second launch's; those behind it found the memory taken
  EXPECT_EQ(Stats(engine_).shadow_launches, 0u);
  Finish();
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(steps_.size(), 8u);
  EXPECT_EQ(Stats(engine_).shadow_launches, 1u);
  Finish();
}

TEST_F(FfnShadowTest, ACapturedLaunchIsNotCompared) {
  SetUpShadow(1);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.streams.BeginCapture(kStream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  ASSERT_EQ(driver_.streams.EndCapture(kStream, &graph), CUDA_SUCCESS) << "the capture is unbroken";
  driver_.failures["cuStreamIsCapturing"] = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_TRUE(steps_.empty());
  driver_.failures.clear();
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).shadow_launches, 1u);
}

TEST_F(FfnShadowTest, NoTokensAreNotCompared) {
  SetUpShadow(1);
  ASSERT_EQ(Launch(0), FUSEBOX_OK);
  EXPECT_TRUE(steps_.empty());
}

TEST_F(FfnShadowTest, WithoutMemoryItSaysSoOnceAndLaunchesGoOn) {
  for (const char* call : {"cuMemAlloc", "cuMemHostAlloc"}) {
    driver_.failures = {{call, CUDA_ERROR_OUT_OF_MEMORY}};
    SetUpShadow(1);
    const BindingPointer other = Bind(op_);
    ASSERT_EQ(Launch(), FUSEBOX_OK);
    EXPECT_TRUE(steps_.empty());
    int num_lines = 0;
    for (const std::string& line : LogLines()) num_lines += line.find(call) != std::string::npos;
    EXPECT_EQ(num_lines, 1) << call;
    binding_.reset();
    op_.reset();
    EXPECT_EQ(driver_.streams.num_memories(), 0);
  }
}

TEST_F(FfnShadowTest, AnOracleThatIsInNoCacheIsSaidAndLaunchesGoOn) {
  engine_ = MakeEngine([](EngineSettings& settings) { settings.config.shadow_period = 1; });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK);
  binding_ = Bind(op_);
  EXPECT_THAT(LogLines().back(), AllOf(HasSubstr("event=off"), HasSubstr("in no cache")));
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(driver_.streams.num_memories(), 0);
}

TEST_F(FfnShadowTest, AFailedStepTurnsItOffAndLaunchesGoOn) {
  SetUpShadow(1);
  driver_.failures["cuLaunchKernel"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  driver_.failures.clear();
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).launches, 3u);
  EXPECT_EQ(Stats(engine_).shadow_launches, 0u);
  int num_lines = 0;
  for (const std::string& line : LogLines()) num_lines += line.find("event=off") != line.npos;
  EXPECT_EQ(num_lines, 1);
}

TEST_F(FfnShadowTest, TheEndWaitsForAComparisonAndCountsIt) {
  SetUpShadow(1);
  finishes_at_once_ = false;
  report_ = {.num_wrong = 1, .worst_ratio = 2.0};
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_EQ(driver_.streams.num_memories(), 2);
  Finish();
  binding_.reset();
  op_.reset();
  EXPECT_EQ(driver_.streams.num_event_waits(), 1);
  EXPECT_EQ(driver_.streams.num_memories(), 0);
  EXPECT_EQ(Stats(engine_).shadow_wrong, 1u);
}

TEST_F(FfnShadowTest, WithoutTheKnobNothingIsMade) {
  SetUpShadow(0);
  ASSERT_EQ(Launch(), FUSEBOX_OK);
  EXPECT_TRUE(steps_.empty());
  EXPECT_EQ(driver_.streams.num_memories(), 0);
  EXPECT_EQ(Stats(engine_).shadow_launches, 0u);
}

}  // namespace
}  // namespace fusebox
