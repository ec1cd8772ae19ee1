#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "runtime/engine/last_error.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class EngineTest : public EngineFixture {};

std::string LastError() { return fusebox_last_error_message(); }

TEST_F(EngineTest, ChoosesItsProfileByTheGpusName) {
  const std::pair<const char*, const char*> cases[] = {{"NVIDIA H200", "h200-sxm"},
                                                       {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                                       {"NVIDIA H100 PCIe", "h100-pcie"},
                                                       {"NVIDIA GH200 480GB", "gh200"}};
  for (const auto& [gpu, profile] : cases) {
    driver_.device_name = gpu;
    EXPECT_EQ(MakeEngine()->engine->spec().name, profile) << gpu;
  }
}

TEST_F(EngineTest, TakesANamedProfileBeforeTheGpusOwn) {
  const auto engine = MakeEngine([](EngineSettings& s) { s.config.device_profile = "h100-sxm"; });
  EXPECT_EQ(engine->engine->spec().name, "h100-sxm");
}

TEST_F(EngineTest, RefusesAnUnknownProfile) {
  const absl::Status status =
      TryEngine([](EngineSettings& s) { s.config.device_profile = "h300"; });
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("h200-sxm"));
}

TEST_F(EngineTest, DeclinesAGpuThatIsNoHopper) {
  driver_.compute_major = 10;
  driver_.device_name = "NVIDIA B200";
  const absl::Status status = TryEngine(nullptr);
  EXPECT_EQ(CodeOf(status), FUSEBOX_UNAVAILABLE);
  EXPECT_EQ(driver_.num_contexts, 0);
}

TEST_F(EngineTest, PreparesFromTheDiskCacheAlone) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  EXPECT_FALSE(IsReady(op_, 1));
  ASSERT_EQ(Prepare(op_, {1, 8, 16, 32}), FUSEBOX_OK) << LastError();
  for (const int tokens : {0, 1, 8, 9, 16, 17, 32}) EXPECT_TRUE(IsReady(op_, tokens)) << tokens;
  EXPECT_EQ(Stats(engine_).compiles, 0u);
  EXPECT_EQ(Stats(engine_).cache_disk_hits, 3u);
  EXPECT_EQ(Stats(engine_).kernels_ready, 3u);
}

TEST_F(EngineTest, PreparesTheAskedTilesOnly) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {9}), FUSEBOX_OK) << LastError();
  EXPECT_FALSE(IsReady(op_, 8));
  EXPECT_TRUE(IsReady(op_, 16));
  EXPECT_FALSE(IsReady(op_, 17));
}

TEST_F(EngineTest, IsNotReadyForWhatIsInNoCacheWhenItMayNotCompile) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_NOT_READY);
  EXPECT_THAT(LastError(), HasSubstr("FUSEBOX_COMPILE=never"));
  EXPECT_FALSE(IsReady(op_, 8));
  EXPECT_EQ(Stats(engine_).kernels_failed, 1u);
}

TEST_F(EngineTest, IsUnavailableWithoutNvrtcForWhatIsInNoCache) {
  engine_ = MakeEngine([](EngineSettings& s) {
    s.config.compile_mode = CompileMode::kBlock;
    s.config.nvrtc_path = "/nonexistent/libnvrtc.so";
  });
  op_ = MakeOp(engine_);
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_UNAVAILABLE);
  EXPECT_THAT(LastError(), HasSubstr("FUSEBOX_NVRTC_PATH=/nonexistent/libnvrtc.so"));
}

TEST_F(EngineTest, SharesOneKernelAmongEqualOps) {
  SetUpReadyBinding();
  const OpPointer twin = MakeOp(engine_);
  ASSERT_EQ(Prepare(twin, {8, 16, 32}), FUSEBOX_OK);
  EXPECT_EQ(driver_.loaded_cubins.size(), kNumTokenTiles);
  EXPECT_EQ(twin->ffn->Kernel(0), op_->ffn->Kernel(0));
}

TEST_F(EngineTest, LoadsOnceForSixteenThreads) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver_.loaded_cubins.size(), 1u);
  EXPECT_EQ(Stats(engine_).kernels_ready, 1u);
}

TEST_F(EngineTest, KeepsAnEntryThatItCannotMakeAgain) {
  engine_ = MakeEngine([](EngineSettings& s) {
    s.config.compile_mode = CompileMode::kBlock;
    s.config.nvrtc_path = "/nonexistent/libnvrtc.so";
  });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  driver_.failures["cuLibraryLoadData"] = CUDA_ERROR_INVALID_IMAGE;
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_UNAVAILABLE);  // the rebuild has no NVRTC here
  EXPECT_EQ(Stats(engine_).cache_bad_entries, 0u);
  driver_.failures.clear();
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << LastError();
}

TEST_F(EngineTest, SetsNothingAsideWhenItMayNotCompile) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  for (const CUresult result : {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
                                CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN}) {
    driver_.failures["cuLibraryLoadData"] = result;
    EXPECT_NE(Prepare(op_, {8}), FUSEBOX_OK);
  }
  driver_.failures.clear();
  EXPECT_EQ(Stats(engine_).cache_bad_entries, 0u);
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << LastError();
}

TEST_F(EngineTest, PreparesInTheBackground) {
  engine_ = MakeEngine([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8, 16, 32}, FUSEBOX_PREPARE_DEFAULT), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_wait(engine_.get(), 20000), FUSEBOX_OK) << LastError();
  EXPECT_TRUE(IsReady(op_, 8) && IsReady(op_, 16) && IsReady(op_, 32));
}

TEST_F(EngineTest, PreparesInTheBackgroundWhatALaunchFoundMissing) {
  engine_ = MakeEngine([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 5);
  ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  for (int i = 0; i < 400 && !IsReady(op_, 5); ++i) absl::SleepFor(absl::Milliseconds(25));
  EXPECT_TRUE(IsReady(op_, 5));
  EXPECT_FALSE(IsReady(op_, 16));
}

TEST_F(EngineTest, DoesNotTryAFailureInTheBackgroundOverAndOver) {
  engine_ = MakeEngine([](EngineSettings& s) {
    s.config.compile_mode = CompileMode::kBackground;
    s.config.nvrtc_path = "/nonexistent/libnvrtc.so";
  });
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 5);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
    absl::SleepFor(absl::Milliseconds(25));
  }
  EXPECT_EQ(Stats(engine_).kernels_failed, 1u);
}

TEST_F(EngineTest, AnExceptionUnderABackgroundPrepareIsAFailedKernel) {
  auto api = std::make_shared<DriverApi>(*driver_.Api());
  api->LibraryLoadData = [](CUlibrary*, const void*, CUjit_option*, void**, unsigned int,
                            CUlibraryOption*, void**,
                            unsigned int) -> CUresult { throw std::bad_alloc(); };
  auto engine = Engine::Create(Settings(), [&] { return api; });
  ASSERT_TRUE(engine.ok()) << engine.status();
  engine_.reset(new fusebox_engine{*std::move(engine)});
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  EXPECT_EQ(fusebox_engine_wait(engine_.get(), 30000), FUSEBOX_OK);
  EXPECT_EQ(Stats(engine_).kernels_failed, 1u);
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OUT_OF_MEMORY);
}

TEST_F(EngineTest, LogsNothingToACallbackOnceDestroyReturned) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  ASSERT_EQ(fusebox_engine_destroy(engine_.release()), FUSEBOX_OK);
  const size_t num_lines = LogLines().size();
  EXPECT_NE(Prepare(op_, {8}), FUSEBOX_OK);
  op_->ffn->engine().log().Write(LogLevel::kError, "prepare", {{"event", "late"}});
  EXPECT_EQ(LogLines().size(), num_lines);
}

TEST_F(EngineTest, KeepsReadinessStableAfterFreeze) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_freeze(engine_.get()), FUSEBOX_OK);
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK);
  EXPECT_EQ(Prepare(op_, {16}), FUSEBOX_NOT_READY);
  EXPECT_THAT(LastError(), HasSubstr("the engine is frozen"));
  EXPECT_TRUE(IsReady(op_, 8));
  EXPECT_FALSE(IsReady(op_, 16));
}

TEST_F(EngineTest, NothingBecomesReadyOnceFreezeReturned) {
  for (int round = 0; round < 20; ++round) {
    const auto engine =
        MakeEngine([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; });
    const OpPointer op = MakeOp(engine);
    WarmCache(op);
    ASSERT_EQ(Prepare(op, {8, 16, 32}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
    ASSERT_EQ(fusebox_engine_freeze(engine.get()), FUSEBOX_OK);
    const bool ready[] = {IsReady(op, 8), IsReady(op, 16), IsReady(op, 32)};
    ASSERT_EQ(fusebox_engine_wait(engine.get(), 20000), FUSEBOX_OK);
    EXPECT_EQ(IsReady(op, 8), ready[0]);
    EXPECT_EQ(IsReady(op, 16), ready[1]);
    EXPECT_EQ(IsReady(op, 32), ready[2]);
  }
}

TEST_F(EngineTest, TriesEveryCountAndReportsTheFirstFailure) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  EXPECT_EQ(Prepare(op_, {129, -1, 8}), FUSEBOX_DECLINED);
  EXPECT_THAT(LastError(), HasSubstr("token_limit: 129 tokens"));
  EXPECT_TRUE(IsReady(op_, 8));
}

TEST_F(EngineTest, DeclinesByNameWhatFuseboxEnableLeavesOut) {
  engine_ = MakeEngine([](EngineSettings& s) { s.config.ffn_enabled = false; });
  const fusebox_ffn_desc desc = Desc();
  fusebox_op* op = nullptr;
  EXPECT_EQ(fusebox_ffn_create(engine_.get(), &desc, &op), FUSEBOX_DECLINED);
  EXPECT_THAT(LastError(), HasSubstr("FUSEBOX_ENABLE"));
  EXPECT_EQ(Stats(engine_).ops_declined, 1u);
}

TEST_F(EngineTest, PlansAndFindsKernelsWithoutAGpu) {
  engine_ = MakeEngine([](EngineSettings& s) {
    s.device_ordinal = kNoDevice;
    s.config.device_profile = "h200-sxm";
  });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << LastError();
  EXPECT_TRUE(IsReady(op_, 8));
  EXPECT_TRUE(driver_.loaded_cubins.empty());
  const fusebox_ffn_weights weights = Weights();
  fusebox_binding* binding = nullptr;
  EXPECT_EQ(fusebox_ffn_bind(op_.get(), &weights, &binding), FUSEBOX_UNAVAILABLE);
  EXPECT_EQ(fusebox_workspace_init(op_.get(), DeviceAddress(0x1000), 1 << 20, nullptr),
            FUSEBOX_UNAVAILABLE);
}

TEST_F(EngineTest, NeedsAProfileWithoutAGpu) {
  const absl::Status status = TryEngine([](EngineSettings& s) { s.device_ordinal = kNoDevice; });
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("known: "));
}

TEST_F(EngineTest, GivesPlansAsJsonOfTheSizeItSaid) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  size_t needed = 0;
  ASSERT_EQ(fusebox_op_plan_json(op_.get(), 8, nullptr, 0, &needed), FUSEBOX_OK);
  std::string json(needed, '?');
  EXPECT_EQ(fusebox_op_plan_json(op_.get(), 8, json.data(), needed - 1, nullptr),
            FUSEBOX_INVALID_ARGUMENT);
  ASSERT_EQ(fusebox_op_plan_json(op_.get(), 8, json.data(), needed, nullptr), FUSEBOX_OK);
  EXPECT_EQ(json.back(), '\0');
  EXPECT_THAT(json, HasSubstr("\"digest\":\"" + op_->ffn->Planned(0).source.Digest().ToHex()));
}

TEST_F(EngineTest, GivesItsCountersAsPrometheusText) {
  SetUpReadyBinding();
  size_t needed = 0;
  ASSERT_EQ(fusebox_engine_stats_text(engine_.get(), nullptr, 0, &needed), FUSEBOX_OK);
  std::string text(needed, '?');
  ASSERT_EQ(fusebox_engine_stats_text(engine_.get(), text.data(), needed, nullptr), FUSEBOX_OK);
  EXPECT_THAT(text, HasSubstr("# TYPE fusebox_kernels_ready_total counter\n"
                              "fusebox_kernels_ready_total{gpu=\"NVIDIA H200\"} 5\n"));
}

TEST_F(EngineTest, MayBeDestroyedBeforeItsOpsAndBindings) {
  SetUpReadyBinding();
  const fusebox_ffn_args args = Args(op_, 3);
  engine_.reset();
  op_.reset();
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_OK) << LastError();
  binding_.reset();
  EXPECT_EQ(driver_.num_libraries, 0);
  EXPECT_EQ(driver_.num_contexts, 0);
}

TEST_F(EngineTest, EndsBackgroundWorkWhenDestroyed) {
  for (int round = 0; round < 10; ++round) {
    auto engine =
        MakeEngine([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; });
    OpPointer op = MakeOp(engine);
    WarmCache(op);
    ASSERT_EQ(Prepare(op, {8, 16, 32}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
    op.reset();
    engine.reset();
    EXPECT_EQ(driver_.num_contexts, 0);
  }
}

TEST_F(EngineTest, TwoEnginesShareNothing) {
  SetUpReadyBinding();
  const auto other = MakeEngine();
  const OpPointer op = MakeOp(other);
  EXPECT_FALSE(IsReady(op, 8));
  EXPECT_EQ(Stats(other).kernels_ready, 0u);
}

TEST_F(EngineTest, LeavesTheThreadsContextAndCaptureModeAlone) {
  SetUpReadyBinding();
  const fusebox_ffn_args args = Args(op_, 3);
  ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_OK);
  EXPECT_EQ(FakeContextDepth(), 0);
}

TEST_F(EngineTest, LogsOneEventPerLoadedKernel) {
  SetUpReadyBinding();
  size_t loads = 0;
  for (const std::string& line : LogLines()) loads += absl::StartsWith(line, "stage=load ");
  EXPECT_EQ(loads, kNumTokenTiles);
}

}  // namespace
}  // namespace fusebox
