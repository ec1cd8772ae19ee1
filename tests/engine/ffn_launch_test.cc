#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

class FfnLaunchTest : public EngineFixture {
 protected:
  const FakeLaunch& Launch(const fusebox_ffn_args& args) {
    EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_OK)
        << fusebox_last_error_message();
    return driver_.launches.back();
  }
  static inline CUstream const kStream = reinterpret_cast<CUstream>(0x77);
};

TEST_F(FfnLaunchTest, PassesWhatTheKernelNeeds) {
  SetUpReadyBinding();
  fusebox_ffn_args args = Args(op_, 5);
  args.x_stride = 2056;
  args.y_stride = 4096;
  const FakeLaunch& launch = Launch(args);
  EXPECT_EQ(launch.stream, kStream);
  EXPECT_EQ(launch.params.tokens, 5u);
  EXPECT_EQ(launch.params.y, args.y);
  EXPECT_EQ(launch.params.y_stride, 4096);
  EXPECT_EQ(launch.params.workspace, args.workspace);
  const FakeTensorMap x = ReadFakeMap(launch.params.x);
  EXPECT_EQ(x.address, args.x);
  EXPECT_EQ(x.rows, 5u);  // nothing beyond row M is read
  EXPECT_EQ(x.columns, 2048u);
  EXPECT_EQ(x.row_bytes, 2056u * 2);
  EXPECT_EQ(x.box_rows, 8u);
}

TEST_F(FfnLaunchTest, LaunchesTheShapeOfThePlan) {
  SetUpReadyBinding();
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    const LaunchShape& shape = op_->ffn->Planned(i).source.launch;
    const FakeLaunch& launch = Launch(Args(op_, kTokenTiles[i]));
    EXPECT_EQ(launch.grid, static_cast<unsigned int>(shape.grid_ctas));
    EXPECT_EQ(launch.cluster, static_cast<unsigned int>(shape.cluster_size));
    EXPECT_EQ(launch.threads, static_cast<unsigned int>(shape.threads));
    EXPECT_EQ(launch.smem, static_cast<unsigned int>(shape.dynamic_smem_bytes));
    EXPECT_EQ(launch.function, op_->ffn->Kernel(i)->function());
  }
}

TEST_F(FfnLaunchTest, BindsFusedReversedAndSeparateWeightsToTheSameRows) {
  const char* const base = static_cast<const char*>(DeviceAddress(0x10000000));
  const int64_t half_bytes = int64_t{8192} * 2048 * 2;
  const struct {
    fusebox_gate_up order;
    const void* gate;
    const void* up;
  } cases[] = {{FUSEBOX_GATE_UP_FUSED, base, base + half_bytes},
               {FUSEBOX_GATE_UP_REVERSED, base + half_bytes, base},
               {FUSEBOX_GATE_UP_SEPARATE, base + 64, base + 128}};
  for (const auto& [order, gate, up] : cases) {
    fusebox_ffn_desc desc = Desc();
    desc.gate_up = order;
    engine_ = MakeEngine();
    op_ = MakeOp(engine_, desc);
    fusebox_ffn_weights weights = Weights();
    if (order == FUSEBOX_GATE_UP_SEPARATE) {
      weights.gate_up = nullptr;
      weights.gate = gate;
      weights.up = up;
    }
    binding_ = Bind(op_, weights);
    const FfnParams& params = binding_->ffn->Params(0);
    EXPECT_EQ(ReadFakeMap(params.gate).address, gate);
    EXPECT_EQ(ReadFakeMap(params.up).address, up);
    EXPECT_EQ(ReadFakeMap(params.up).rows, 8192u);
    EXPECT_EQ(ReadFakeMap(params.up).columns, 2048u);
    EXPECT_EQ(ReadFakeMap(params.down).rows, 2048u);
    EXPECT_EQ(ReadFakeMap(params.down).columns, 8192u);
    const FusionPlan& plan = op_->ffn->Planned(0).report.best.plan;
    EXPECT_EQ(ReadFakeMap(params.up).box_rows, static_cast<unsigned int>(plan.up.rows_per_pass));
    EXPECT_EQ(ReadFakeMap(params.down).box_rows,
              static_cast<unsigned int>(plan.down.rows_per_pass));
  }
}

TEST_F(FfnLaunchTest, HonoursLeadingDimensions) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  fusebox_ffn_weights weights = Weights();
  weights.gate_up_ld = 2112;
  weights.down_ld = 8200;
  binding_ = Bind(op_, weights);
  const FfnParams& params = binding_->ffn->Params(0);
  EXPECT_EQ(ReadFakeMap(params.gate).row_bytes, 2112u * 2);
  EXPECT_EQ(ReadFakeMap(params.down).row_bytes, 8200u * 2);
  EXPECT_EQ(static_cast<const char*>(ReadFakeMap(params.up).address) -
                static_cast<const char*>(ReadFakeMap(params.gate).address),
            int64_t{8192} * 2112 * 2);
}

TEST_F(FfnLaunchTest, AddsXWhereNoResidualIsGiven) {
  fusebox_ffn_desc desc = Desc();
  desc.residual_mode = FUSEBOX_RESIDUAL_ADD_AFTER;
  SetUpReadyBinding(desc);
  fusebox_ffn_args args = Args(op_, 3);
  args.x_stride = 2056;
  EXPECT_EQ(Launch(args).params.residual, args.x);
  EXPECT_EQ(driver_.launches.back().params.residual_stride, 2056);
  args.residual = DeviceAddress(0x38000000);
  args.residual_stride = 2064;
  EXPECT_EQ(Launch(args).params.residual, args.residual);
  EXPECT_EQ(driver_.launches.back().params.residual_stride, 2064);
  args.residual = args.y;  // in place
  args.residual_stride = 0;
  EXPECT_EQ(Launch(args).params.residual, args.y);
}

TEST_F(FfnLaunchTest, RefusesBuffersThatOverlapInPart) {
  fusebox_ffn_desc desc = Desc();
  desc.norm = FUSEBOX_NORM_RMS;
  desc.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM;
  SetUpReadyBinding(desc);
  const fusebox_ffn_args good = Args(op_, 4);  // residual and residual_out are one buffer
  const auto shifted = [](const void* pointer, int64_t rows, int64_t elements) {
    return DeviceAddress(reinterpret_cast<uintptr_t>(pointer) + (rows * 2048 + elements) * 2);
  };
  const struct {
    void (*spoil)(fusebox_ffn_args& args, void* where);
    const void* near;
    const char* sentence;
  } cases[] = {
      {[](auto& args, void* where) { args.y = where; }, good.x, "y overlaps x"},
      {[](auto& args, void* where) { args.y = where; }, good.residual, "y overlaps residual"},
      {[](auto& args, void* where) { args.residual_out = where; }, good.x,
       "residual_out overlaps x"},
      {[](auto& args, void* where) { args.residual_out = where; }, good.residual,
       "residual_out overlaps residual"}};
  for (const auto& [spoil, near, sentence] : cases) {
    for (const int64_t rows : {-3, 1, 3}) {
      fusebox_ffn_args args = good;
      spoil(args, shifted(near, rows, rows < 0 ? 8 : -8));
      EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_INVALID_ARGUMENT);
      EXPECT_THAT(fusebox_last_error_message(), testing::HasSubstr(sentence)) << rows;
    }
    fusebox_ffn_args args = good;
    spoil(args, shifted(near, 4, 0));  // right behind it
    EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_OK)
        << fusebox_last_error_message();
  }
}

TEST_F(FfnLaunchTest, TakesXAndYThatAreColumnsOfOneBuffer) {
  SetUpReadyBinding();
  fusebox_ffn_args args = Args(op_, 32);
  args.x_stride = args.y_stride = 4096;
  args.y = DeviceAddress(reinterpret_cast<uintptr_t>(args.x) + 2048 * 2);
  EXPECT_EQ(Launch(args).params.y, args.y);
}

TEST_F(FfnLaunchTest, OverlapsItsPredecessorUnlessWeightsWereJustWritten) {
  SetUpReadyBinding();
  fusebox_ffn_args args = Args(op_, 3);
  EXPECT_TRUE(Launch(args).programmatic);
  args.flags = FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN;
  EXPECT_FALSE(Launch(args).programmatic);
}

TEST_F(FfnLaunchTest, NeverOverlapsWithPdlOff) {
  SetUpReadyBinding(Desc(), [](EngineSettings& s) { s.config.pdl = PdlMode::kOff; });
  EXPECT_FALSE(Launch(Args(op_, 3)).programmatic);
}

TEST_F(FfnLaunchTest, LaunchesForNoTokensWithoutAnyBuffer) {
  SetUpReadyBinding();
  const fusebox_ffn_args args = {.struct_size = sizeof(args)};
  const FakeLaunch& launch = Launch(args);
  EXPECT_EQ(launch.params.tokens, 0u);
  EXPECT_EQ(launch.params.y, nullptr);
  EXPECT_TRUE(launch.programmatic);
  EXPECT_NE(ReadFakeMap(launch.params.x).address, nullptr);  // a valid map all the same
}

TEST_F(FfnLaunchTest, LaunchesForNoTokensWithAnyKernelThatIsReady) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {32}), FUSEBOX_OK);
  binding_ = Bind(op_);
  EXPECT_EQ(Launch(Args(op_, 0)).function, op_->ffn->Kernel(2)->function());
}

TEST_F(FfnLaunchTest, SucceedsForNoTokensWithoutAnyKernel) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 0);
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_OK);
  EXPECT_EQ(driver_.num_launches, 0);
  int32_t ready = 0;
  EXPECT_EQ(fusebox_op_is_ready(op_.get(), 0, &ready), FUSEBOX_OK);
  EXPECT_EQ(ready, 1);
}

TEST_F(FfnLaunchTest, RefusesAStrideThatNoTensorMapHolds) {
  SetUpReadyBinding();
  fusebox_ffn_args args = Args(op_, 8);
  args.y_stride = INT64_MAX - 7;
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(fusebox_last_error_message(), testing::HasSubstr("y_stride"));
}

TEST_F(FfnLaunchTest, IsNotReadyBeforePrepare) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  for (const int tokens : {1, 8, 32}) {
    const fusebox_ffn_args args = Args(op_, tokens);
    EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_NOT_READY);
  }
  EXPECT_EQ(driver_.num_launches, 0);
  EXPECT_EQ(Stats(engine_).launches_not_ready, 3u);
}

TEST_F(FfnLaunchTest, ReportsTheDriversRefusal) {
  SetUpReadyBinding();
  driver_.failures["cuLaunchKernelEx"] = CUDA_ERROR_INVALID_HANDLE;
  const fusebox_ffn_args args = Args(op_, 3);
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_CUDA_FAILED);
  EXPECT_THAT(fusebox_last_error_message(), testing::HasSubstr("failed with 400"));
  EXPECT_EQ(Stats(engine_).launches_failed, 1u);
}

TEST_F(FfnLaunchTest, FillsTheWorkspaceOnTheCallersStream) {
  SetUpReadyBinding();
  size_t bytes = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), 0, &bytes), FUSEBOX_OK);
  ASSERT_EQ(fusebox_workspace_init(op_.get(), DeviceAddress(0x60000000), bytes, kStream),
            FUSEBOX_OK);
  const FakeMemset& memset = driver_.memsets.back();
  EXPECT_EQ(memset.address, 0x60000000u);
  EXPECT_EQ(memset.words, bytes / 4);
  EXPECT_EQ(memset.stream, kStream);
}

TEST_F(FfnLaunchTest, NeedsNoLessWorkspaceForMoreTokens) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  size_t previous = 0;
  for (const int tokens : kTokenTiles) {
    size_t bytes = 0;
    ASSERT_EQ(fusebox_op_workspace_size(op_.get(), tokens, &bytes), FUSEBOX_OK);
    EXPECT_GE(bytes, previous);
    previous = bytes;
  }
  size_t all = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), 0, &all), FUSEBOX_OK);
  EXPECT_EQ(all, previous);
}

TEST_F(FfnLaunchTest, LaunchesFromManyThreadsAtOnce) {
  SetUpReadyBinding();
  const fusebox_ffn_args args = Args(op_, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, kStream), FUSEBOX_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver_.num_launches, 1600);
  EXPECT_EQ(Stats(engine_).launches, 1600u);
}

}  // namespace
}  // namespace fusebox
