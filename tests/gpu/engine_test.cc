// Engines on a GPU: caches without a compiler, two engines beside each other, and the mistakes that
// only a GPU can show, each with its status and its sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu/launch_fixture.h"

namespace fusebox {
namespace {

using testing::HasSubstr;
using GpuEngineTest = LaunchTest;

fusebox_engine_stats_values StatsOf(const api::Engine& engine) {
  auto stats = api::Sized<fusebox_engine_stats_values>();
  EXPECT_TRUE(static_cast<bool>(engine.Stats(&stats)));
  return stats;
}

TEST_F(GpuEngineTest, APrewarmedCacheServesWithoutAnyCompile) {
  fusebox_engine_options options = EngineOptions();
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  ReadyOp ready;
  MakeReady(engine, Problem(), ready);  // compiled by SetUp's engine
  if (HasFatalFailure()) return;
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
  ASSERT_API_OK(
      ready.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Difference(ready, buffers), "");
  EXPECT_EQ(StatsOf(engine).compiles, 0u);
  EXPECT_EQ(StatsOf(engine).cache_disk_hits, 1u);
  EXPECT_EQ(StatsOf(engine).launches, 1u);
}

TEST_F(GpuEngineTest, AnEmptyCacheWithoutACompilerIsNotReady) {
  const std::string empty = MakeFolder("empty");
  fusebox_engine_options options = EngineOptions();
  options.cache_dirs = empty.c_str();
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  api::Op op;
  ASSERT_API_OK(op.CreateFfn(engine, ready_.on_device->desc()));
  EXPECT_EQ(op.Prepare(&kTokens, 1).code(), FUSEBOX_NOT_READY);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("fusebox warm"));
  api::Binding binding;
  ASSERT_API_OK(binding.BindFfn(op, ready_.on_device->weights()));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  EXPECT_EQ(binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()).code(),
            FUSEBOX_NOT_READY);
  EXPECT_EQ(StatsOf(engine).launches_not_ready, 1u);
}

TEST_F(GpuEngineTest, TwoEnginesServeOneGpu) {
  const fusebox_engine_options options = EngineOptions();
  api::Engine other;
  ASSERT_API_OK(other.Create(&options));
  ReadyOp ready;
  MakeReady(other, Problem(), ready);
  if (HasFatalFailure()) return;
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers mine, MakeBuffers(ready_));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers others, MakeBuffers(ready));
  for (int i = 0; i < 20; ++i) {
    ASSERT_API_OK(
        ready_.binding.LaunchFfn(mine.Args(kTokens, ResidualMode::kNone), gpu().stream()));
    ASSERT_API_OK(
        ready.binding.LaunchFfn(others.Args(kTokens, ResidualMode::kNone), gpu().stream()));
  }
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Difference(ready_, mine), "");
  EXPECT_EQ(Difference(ready, others), "");
  // A workspace is an engine's: the other one never initialised it.
  EXPECT_EQ(
      ready_.binding.LaunchFfn(others.Args(kTokens, ResidualMode::kNone), gpu().stream()).code(),
      FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("fusebox_workspace_init was not called"));
}

TEST_F(GpuEngineTest, ABindingOutlivesItsOpAndItsEngine) {
  api::Engine engine;
  const fusebox_engine_options options = EngineOptions();
  ASSERT_API_OK(engine.Create(&options));
  ReadyOp ready;
  MakeReady(engine, Problem(), ready);
  if (HasFatalFailure()) return;
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
  ready.op = api::Op();
  engine = api::Engine();
  ASSERT_API_OK(
      ready.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Difference(ready, buffers), "");
}

// One way to spoil a launch's arguments, and what must be said about it.
struct BadArguments {
  const char* name;
  void (*spoil)(fusebox_ffn_args& args, LaunchBuffers& buffers);
  fusebox_status code;
  const char* sentence;
};

template <int kBytes>
const void* Shifted(const void* pointer) {
  return static_cast<const char*>(pointer) + kBytes;
}

const BadArguments kBadArguments[] = {
    {"x null", [](auto& args, auto&) { args.x = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "x is NULL"},
    {"y null", [](auto& args, auto&) { args.y = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "y is NULL"},
    {"x misaligned", [](auto& args, auto&) { args.x = Shifted<2>(args.x); },
     FUSEBOX_INVALID_ARGUMENT, "not aligned to 16 bytes"},
    {"y misaligned", [](auto& args, auto&) { args.y = const_cast<void*>(Shifted<8>(args.y)); },
     FUSEBOX_INVALID_ARGUMENT, "not aligned to 16 bytes"},
    {"y is x", [](auto& args, auto&) { args.y = const_cast<void*>(args.x); },
     FUSEBOX_INVALID_ARGUMENT, "y is x"},
    {"x stride below width", [](auto& args, auto&) { args.x_stride = 512; },
     FUSEBOX_INVALID_ARGUMENT, "below the width"},
    {"y stride no multiple of 8", [](auto& args, auto&) { args.y_stride = 524; }, FUSEBOX_DECLINED,
     "row_pitch"},
    {"negative tokens", [](auto& args, auto&) { args.tokens = -1; }, FUSEBOX_INVALID_ARGUMENT,
     "tokens is -1"},
    {"too many tokens", [](auto& args, auto&) { args.tokens = FUSEBOX_FFN_MAX_TOKENS + 1; },
     FUSEBOX_DECLINED, "token_limit"},
    {"unknown flag", [](auto& args, auto&) { args.flags = 1u << 31; }, FUSEBOX_INVALID_ARGUMENT,
     "unknown bits"},
    {"residual of an op without", [](auto& args, auto&) { args.residual = args.x; },
     FUSEBOX_INVALID_ARGUMENT, "residual mode is none"},
    {"workspace null", [](auto& args, auto&) { args.workspace = nullptr; },
     FUSEBOX_INVALID_ARGUMENT, "workspace is NULL"},
    {"workspace too small", [](auto& args, auto&) { args.workspace_bytes = 65536; },
     FUSEBOX_INVALID_ARGUMENT, "fusebox_op_workspace_size"},
    {"workspace not initialised",
     [](auto& args, auto& buffers) { args.workspace = buffers.y().buffer().template as<void>(); },
     FUSEBOX_INVALID_ARGUMENT, "fusebox_workspace_init was not called"},
    {"struct_size 0", [](auto& args, auto&) { args.struct_size = 0; }, FUSEBOX_INVALID_ARGUMENT,
     "struct_size is 0"},
    {"struct_size unknown", [](auto& args, auto&) { args.struct_size += 8; },
     FUSEBOX_INVALID_ARGUMENT, "struct_size"},
};

TEST_F(GpuEngineTest, RefusesBadArgumentsAndEnqueuesNothing) {
  ASSERT_OK_AND_ASSIGN(LaunchBuffers buffers, MakeBuffers(ready_));
  for (const BadArguments& bad : kBadArguments) {
    fusebox_ffn_args args = buffers.Args(kTokens, ResidualMode::kNone);
    bad.spoil(args, buffers);
    EXPECT_EQ(ready_.binding.LaunchFfn(args, gpu().stream()).code(), bad.code) << bad.name;
    EXPECT_THAT(api::LastErrorMessage(), HasSubstr(bad.sentence)) << bad.name;
  }
  ASSERT_STATUS_OK(gpu().Synchronize());
  const auto y = buffers.y().TakeRows(0);
  EXPECT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(StatsOf(engine_).launches, 0u);
}

struct BadWeights {
  const char* name;
  void (*spoil)(fusebox_ffn_weights& weights);
  fusebox_status code;
  const char* sentence;
};

uint16_t host_memory[64];

const BadWeights kBadWeights[] = {
    {"gate_up null", [](auto& w) { w.gate_up = nullptr; }, FUSEBOX_INVALID_ARGUMENT,
     "gate_up is NULL"},
    {"down misaligned", [](auto& w) { w.down = Shifted<2>(w.down); }, FUSEBOX_INVALID_ARGUMENT,
     "not aligned to 16 bytes"},
    {"leading dimension below width", [](auto& w) { w.gate_up_ld = 512; }, FUSEBOX_INVALID_ARGUMENT,
     "below its width"},
    {"leading dimension no multiple of 8", [](auto& w) { w.down_ld = 1004; }, FUSEBOX_DECLINED,
     "row_pitch"},
    {"gate beside gate_up", [](auto& w) { w.gate = w.gate_up; }, FUSEBOX_INVALID_ARGUMENT,
     "must be NULL"},
    {"host memory",
     [](auto& w) {
       w.down = reinterpret_cast<const void*>((reinterpret_cast<uintptr_t>(host_memory) + 15) &
                                              ~uintptr_t{15});
     },
     FUSEBOX_INVALID_ARGUMENT, "no device memory"},
    {"struct_size 0", [](auto& w) { w.struct_size = 0; }, FUSEBOX_INVALID_ARGUMENT, "struct_size"},
};

TEST_F(GpuEngineTest, RefusesBadWeights) {
  for (const BadWeights& bad : kBadWeights) {
    fusebox_ffn_weights weights = ready_.on_device->weights();
    bad.spoil(weights);
    api::Binding binding;
    EXPECT_EQ(binding.BindFfn(ready_.op, weights).code(), bad.code) << bad.name;
    EXPECT_THAT(api::LastErrorMessage(), HasSubstr(bad.sentence)) << bad.name;
    EXPECT_FALSE(static_cast<bool>(binding)) << bad.name;
  }
}

// A binding made for one op is launched as that op: its workspace and strides are judged by it.
TEST_F(GpuEngineTest, AnotherOpsBindingNeedsAnotherOpsWorkspace) {
  ReadyOp larger;
  MakeReady(engine_,
            {.hidden = DimK(2048), .intermediate = DimN(8192), .activation = Activation::kRelu},
            larger);
  if (HasFatalFailure()) return;
  size_t asked = 0, needed = 0;
  ASSERT_API_OK(ready_.op.WorkspaceSize(1, &asked));
  ASSERT_API_OK(larger.op.WorkspaceSize(1, &needed));
  ASSERT_GT(needed, asked);
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  fusebox_ffn_args args = buffers.Args(1, ResidualMode::kNone);
  args.workspace_bytes = asked;
  args.x_stride = args.y_stride = 0;
  EXPECT_EQ(larger.binding.LaunchFfn(args, gpu().stream()).code(), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("are needed"));
}

TEST_F(GpuEngineTest, RefusesAWorkspaceThatIsTooSmallOrMisaligned) {
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  void* const workspace = buffers.workspace().as<void>();
  EXPECT_EQ(ready_.op.InitWorkspace(workspace, 4096, gpu().stream()).code(),
            FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("too small"));
  EXPECT_EQ(ready_.op
                .InitWorkspace(const_cast<void*>(Shifted<16>(workspace)), ready_.workspace_bytes,
                               gpu().stream())
                .code(),
            FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("not aligned"));
}

}  // namespace
}  // namespace fusebox
