// What a launch promises on the GPU: residual in place, no tokens, capture and replay, self-
// resetting workspace, strides, threads and streams, engines beside each other.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/tools/captured_graph.h"
#include "tests/gpu/launch_fixture.h"

namespace fusebox {
namespace {

using GpuLaunchTest = LaunchTest;

TEST_F(GpuLaunchTest, AddsTheResidualIntoAnotherBufferOrInPlace) {
  ReadyOp ready;
  MakeReady(engine_, Problem(ResidualMode::kAddAfter), ready);
  if (HasFatalFailure()) return;
  for (const bool in_place : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
    fusebox_ffn_args args = buffers.Args(kTokens, ResidualMode::kAddAfter);
    if (in_place) {
      ASSERT_STATUS_OK(buffers.y().UploadRows(ready.values.residual, kTokens));
      args.residual = args.y;
    }
    ASSERT_API_OK(ready.binding.LaunchFfn(args, gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    EXPECT_EQ(Difference(ready, buffers), "") << (in_place ? "in place" : "out of place");
  }
}

TEST_F(GpuLaunchTest, AddsXWhereTheResidualIsLeftOut) {
  ReadyOp ready;
  MakeReady(engine_, Problem(ResidualMode::kAddAfter), ready);
  if (HasFatalFailure()) return;
  ready.values.residual = ready.values.x;
  ready.expected = reference::ComputeReference(ready.values);
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready, {.x = 16}));
  fusebox_ffn_args args = buffers.Args(kTokens, ResidualMode::kNone);
  ASSERT_API_OK(ready.binding.LaunchFfn(args, gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Difference(ready, buffers), "");
}

TEST_F(GpuLaunchTest, HonoursRowStridesAboveTheWidth) {
  for (const RowPadding& padding :
       {RowPadding{.x = 8}, RowPadding{.y = 8}, RowPadding{.x = 1000, .y = 504}}) {
    ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_, padding));
    ASSERT_API_OK(
        ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    EXPECT_EQ(Difference(ready_, buffers), "") << padding.x << " " << padding.y;
  }
}

TEST_F(GpuLaunchTest, LeavesReportAndCountersZeroAfterEachLaunch) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  for (int i = 0; i < 50; ++i) {
    ASSERT_STATUS_OK(buffers.y().Poison());
    ASSERT_API_OK(
        ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_EQ(Difference(ready_, buffers), "") << "launch " << i;  // checks the header too
  }
}

TEST_F(GpuLaunchTest, NoTokensTouchNothing) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  ASSERT_STATUS_OK(buffers.PoisonPartials());
  ASSERT_OK_AND_ASSIGN(const auto before, buffers.workspace().DownloadAll<uint32_t>());
  fusebox_ffn_args args = buffers.Args(0, ResidualMode::kNone);
  ASSERT_API_OK(ready_.binding.LaunchFfn(args, gpu().stream()));
  args = api::FfnArgs();  // and needs no buffer
  ASSERT_API_OK(ready_.binding.LaunchFfn(args, gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  ASSERT_OK_AND_ASSIGN(const auto after, buffers.workspace().DownloadAll<uint32_t>());
  EXPECT_EQ(before, after);
  const auto y = buffers.y().TakeRows(0);  // all of it still NaN
  EXPECT_TRUE(y.ok()) << y.status();
}

// A large op, no tokens, then an op that reads the large one's output: were the middle launch not
// to wait for its predecessor, the last would start on NaN.
TEST_F(GpuLaunchTest, NoTokensKeepTheChain) {
  const FfnProblem large_problem = {
      .hidden = DimK(520), .intermediate = DimN(24576), .activation = Activation::kRelu};
  ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(gpu()));
  ASSERT_OK_AND_ASSIGN(const FfnLayer layer, FfnLayer::Make(gpu(), kernels, large_problem, 3));
  api::Op large;
  ASSERT_API_OK(large.CreateFfn(engine_, DescOf(large_problem)));
  ASSERT_API_OK(large.Prepare(&kTokens, 1));
  api::Binding large_binding;
  ASSERT_API_OK(large_binding.BindFfn(large, layer.weights()));
  size_t bytes = 0;
  ASSERT_API_OK(large.WorkspaceSize(0, &bytes));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers first, LaunchBuffers::Make(gpu(), large_problem, bytes));
  ASSERT_API_OK(large.InitWorkspace(first.workspace().as<void>(), bytes, gpu().stream()));
  ASSERT_STATUS_OK(kernels.FillUniform(first.x().View(kTokens), kActivationLimit, 1));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers second, MakeBuffers(ready_));
  fusebox_ffn_args last = second.Args(kTokens, ResidualMode::kNone);
  last.x = first.y().buffer().as<void>();

  std::vector<uint16_t> expected;
  for (int i = 0; i < 60; ++i) {
    ASSERT_STATUS_OK(first.y().Poison());
    ASSERT_STATUS_OK(second.y().Poison());
    ASSERT_API_OK(
        large_binding.LaunchFfn(first.Args(kTokens, ResidualMode::kNone), gpu().stream()));
    if (i == 0) ASSERT_STATUS_OK(gpu().Synchronize());  // the expectation: one after the other
    for (int empty = 0; i > 0 && empty < i % 4; ++empty) {
      ASSERT_API_OK(ready_.binding.LaunchFfn(second.Args(0, ResidualMode::kNone), gpu().stream()));
    }
    ASSERT_API_OK(ready_.binding.LaunchFfn(last, gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, second.TakeOutput(kTokens));
    if (expected.empty()) expected = y;
    ASSERT_EQ(y, expected) << "chain " << i;
  }
}

TEST_F(GpuLaunchTest, ACapturedLaunchReadsWhatIsThereAtEachReplay) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  ASSERT_OK_AND_ASSIGN(
      const CapturedGraph graph,
      CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) {
        return ApiStatus(
            ready_.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), stream).code());
      }));
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    reference::FfnCase changed = ready_.values;
    changed.x = reference::MakeSmallIntegerCase(changed.problem, kTokens, 100 + seed).x;
    ASSERT_STATUS_OK(buffers.x().UploadRows(changed.x, kTokens));
    ASSERT_STATUS_OK(buffers.y().Poison());
    ASSERT_STATUS_OK(graph.Replay(gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, buffers.TakeOutput(kTokens));
    EXPECT_EQ(reference::CompareExactly(changed, reference::ComputeReference(changed), y).failure,
              "");
  }
}

TEST_F(GpuLaunchTest, RowsBeyondTheCountAreNeitherReadNorWritten) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  for (const int32_t tokens : {1, 2, 3, 4, 5}) {
    ASSERT_STATUS_OK(ready_.on_device->Load(buffers, tokens));  // x is NaN beyond
    ASSERT_API_OK(
        ready_.binding.LaunchFfn(buffers.Args(tokens, ResidualMode::kNone), gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, buffers.TakeOutput(tokens));
    const std::vector<uint16_t>& bits = ready_.expected.bits;
    EXPECT_TRUE(std::equal(y.begin(), y.end(), bits.begin())) << tokens;
  }
}

TEST_F(GpuLaunchTest, FourThreadsLaunchOnFourStreams) {
  constexpr int kThreads = 4;
  constexpr int kLaunches = 100;
  std::vector<LaunchBuffers> buffers;
  std::vector<UniqueStream> streams;
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_OK_AND_ASSIGN(LaunchBuffers made, MakeBuffers(ready_));
    buffers.push_back(std::move(made));
    ASSERT_OK_AND_ASSIGN(UniqueStream stream, gpu().MakeStream());
    streams.push_back(std::move(stream));
  }
  std::atomic<int> num_failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const DriverApi& api = gpu().api();
      (void)api.CtxPushCurrent(gpu().context()->get());
      for (int k = 0; k < kLaunches; ++k) {
        const fusebox_ffn_args args =
            buffers[static_cast<size_t>(i)].Args(k % 10 == 0 ? 0 : kTokens, ResidualMode::kNone);
        if (!ready_.binding.LaunchFfn(args, streams[static_cast<size_t>(i)].get())) ++num_failed;
      }
      if (api.StreamSynchronize(streams[static_cast<size_t>(i)].get()) != CUDA_SUCCESS) {
        ++num_failed;
      }
      CUcontext popped = nullptr;
      (void)api.CtxPopCurrent(&popped);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_failed, 0);
  for (const LaunchBuffers& one : buffers) EXPECT_EQ(Difference(ready_, one), "");
}

TEST_F(GpuLaunchTest, WeightsJustWrittenAreSeen) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  ASSERT_OK_AND_ASSIGN(const DeviceBuffer merged,
                       DeviceBuffer::Make(gpu(), "merged down", 520 * 1000 * 2));
  fusebox_ffn_weights weights = ready_.on_device->weights();
  const auto original = reinterpret_cast<CUdeviceptr>(weights.down);
  weights.down = merged.as<void>();
  weights.down_ld = 0;
  api::Binding binding;
  ASSERT_API_OK(binding.BindFfn(ready_.op, weights));
  fusebox_ffn_args args = buffers.Args(kTokens, ResidualMode::kNone);
  args.flags = FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN;
  for (int i = 0; i < 20; ++i) {
    ASSERT_STATUS_OK(merged.Fill(0xff));
    ASSERT_STATUS_OK(buffers.y().Poison());
    ASSERT_STATUS_OK(gpu().Check(
        gpu().api().MemcpyDtoDAsync(merged.address(), original, merged.bytes(), gpu().stream()),
        "cuMemcpyDtoDAsync"));
    ASSERT_API_OK(binding.LaunchFfn(args, gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_EQ(Difference(ready_, buffers), "") << i;
  }
}

}  // namespace
}  // namespace fusebox
