// Stream capture in the strictest mode while other threads compile, load and unload: the driver
// itself says whether anything that capture forbids was done, and the graph must still be right.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/tools/captured_graph.h"
#include "tests/gpu/launch_fixture.h"

namespace fusebox {
namespace {

class GpuCaptureTest : public LaunchTest {
 protected:
  // Other dims, so other kernels, than every test before it.
  static FfnProblem FreshProblem(int index) {
    return {.hidden = DimK(520),
            .intermediate = DimN(1008 + 8 * index),
            .activation = Activation::kRelu};
  }

  void ExpectReplayIsRight(const CapturedGraph& graph, const ReadyOp& ready,
                           const LaunchBuffers& buffers) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_STATUS_OK(buffers.y().Poison());
      ASSERT_STATUS_OK(graph.Replay(gpu().stream()));
      ASSERT_STATUS_OK(gpu().Synchronize());
      EXPECT_EQ(Difference(ready, buffers), "");
    }
  }
};

TEST_F(GpuCaptureTest, AnotherThreadCompilesLoadsAndUnloadsBesideACapture) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  const fusebox_engine_options options = EngineOptions();
  ASSERT_OK_AND_ASSIGN(
      const CapturedGraph graph,
      CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) -> absl::Status {
        FUSEBOX_RETURN_IF_ERROR(ApiStatus(
            ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), stream).code()));
        absl::Status beside;
        std::thread([&] {
          for (int i = 0; i < 3 && beside.ok(); ++i) {
            api::Engine engine;
            api::Op op;
            beside.Update(ApiStatus(engine.Create(&options).code()));
            beside.Update(ApiStatus(op.CreateFfn(engine, DescOf(FreshProblem(i))).code()));
            beside.Update(ApiStatus(op.Prepare(&kTokens, 1, FUSEBOX_PREPARE_BLOCK).code()));
          }
        }).join();
        FUSEBOX_RETURN_IF_ERROR(beside);
        return ApiStatus(
            ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), stream).code());
      }));
  ExpectReplayIsRight(graph, ready_, buffers);
}

TEST_F(GpuCaptureTest, WhatACapturedLaunchFoundMissingArrivesInTheBackground) {
  fusebox_engine_options options = EngineOptions();
  options.compile_mode = FUSEBOX_COMPILE_BACKGROUND;
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  ReadyOp ready;
  MakeReady(engine, FreshProblem(10), ready);  // its weights; then an op without a kernel
  if (HasFatalFailure()) return;
  constexpr int32_t kOtherTokens = 16;  // of a tile that nobody prepared
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
  const fusebox_ffn_args unprepared = buffers.Args(kOtherTokens, ResidualMode::kNone);
  ASSERT_OK_AND_ASSIGN(
      const CapturedGraph graph,
      CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) -> absl::Status {
        if (ready.binding.LaunchFfn(unprepared, stream).code() != FUSEBOX_NOT_READY) {
          return absl::InternalError("a launch without a kernel is not NOT_READY");
        }
        int32_t is_ready = 0;
        for (int i = 0; i < 600 && is_ready == 0; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          FUSEBOX_RETURN_IF_ERROR(ApiStatus(ready.op.IsReady(kOtherTokens, &is_ready).code()));
        }
        if (is_ready == 0) return absl::InternalError("the kernel did not come");
        return ApiStatus(
            ready.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), stream).code());
      }));
  ExpectReplayIsRight(graph, ready, buffers);
}

TEST_F(GpuCaptureTest, APrepareThatBlocksTheCapturingThreadBreaksNothing) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  api::Op op;
  ASSERT_API_OK(op.CreateFfn(engine_, DescOf(FreshProblem(20))));
  ASSERT_OK_AND_ASSIGN(
      const CapturedGraph graph,
      CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) -> absl::Status {
        FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.Prepare(&kTokens, 1, FUSEBOX_PREPARE_BLOCK).code()));
        return ApiStatus(
            ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), stream).code());
      }));
  ExpectReplayIsRight(graph, ready_, buffers);
}

TEST_F(GpuCaptureTest, LaunchesAfterFreezeAddNoKernel) {
  fusebox_engine_options options = EngineOptions();
  options.compile_mode = FUSEBOX_COMPILE_BACKGROUND;
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  ReadyOp ready;
  MakeReady(engine, Problem(), ready);
  if (HasFatalFailure()) return;
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
  ASSERT_API_OK(engine.Freeze());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ready.binding.LaunchFfn(buffers.Args(16, ResidualMode::kNone), gpu().stream()).code(),
              FUSEBOX_NOT_READY);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  int32_t is_ready = -1;
  ASSERT_API_OK(ready.op.IsReady(16, &is_ready));
  EXPECT_EQ(is_ready, 0);
  ASSERT_API_OK(
      ready.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Difference(ready, buffers), "");
}

}  // namespace
}  // namespace fusebox
