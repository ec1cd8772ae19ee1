// FUSEBOX_SHADOW on a GPU: right kernels are found right in every residual mode, in place too, and
// a wrong one is counted and told. The wrong kernel is that of another activation, put into the
// cache under the right one's name, as no cache of ours would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cache/cubin_store.h"
#include "runtime/engine/handles.h"
#include "runtime/engine/settings.h"
#include "runtime/tools/captured_graph.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/launch_buffers.h"
#include "runtime/tools/measure_kernels.h"
#include "src/source/emit.h"
#include "tests/gpu/gpu_fixture.h"

namespace fusebox {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kTokens = 7;
constexpr uint32_t kSeed = 3;

FfnProblem ProblemWith(Norm norm, ResidualMode mode) {
  return {.hidden = DimK(2048),
          .intermediate = DimN(8192),
          .residual_mode = mode,
          .norm = norm,
          .rounding = Rounding::kEngine};
}

class ShadowTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_OK_AND_ASSIGN(MeasureKernels kernels, MeasureKernels::Load(gpu()));
    kernels_ = std::make_unique<MeasureKernels>(std::move(kernels));
  }

  // An op of an engine that compares every launch, bound and ready.
  void MakeReady(const FfnProblem& problem, const std::string& cache) {
    EngineSettings settings;
    settings.config.cache_dirs = {cache};
    settings.config.compile_mode = CompileMode::kBlock;
    settings.config.shadow_period = 1;
    settings.log_user = this;
    settings.log_callback = [](void* self, int32_t, const char* line) {
      auto* test = static_cast<ShadowTest*>(self);
      const std::lock_guard lock(test->log_mutex_);
      test->log_lines_.emplace_back(line);
    };
    ASSERT_OK_AND_ASSIGN(std::shared_ptr<Engine> engine, Engine::Create(settings));
    engine_ = std::make_unique<fusebox_engine>(fusebox_engine{std::move(engine)});
    const fusebox_ffn_desc desc = DescOf(problem);
    ASSERT_API_OK(fusebox_ffn_create(engine_.get(), &desc, &op_));
    const int32_t tokens = kTokens;
    ASSERT_API_OK(fusebox_op_prepare(op_, &tokens, 1, FUSEBOX_PREPARE_BLOCK));
    ASSERT_OK_AND_ASSIGN(FfnLayer layer, FfnLayer::Make(gpu(), *kernels_, problem, kSeed));
    layer_ = std::make_unique<FfnLayer>(std::move(layer));
    const fusebox_ffn_weights weights = layer_->weights();
    ASSERT_API_OK(fusebox_ffn_bind(op_, &weights, &binding_));
    size_t bytes = 0;
    ASSERT_API_OK(fusebox_op_workspace_size(op_, kTokens, &bytes));
    ASSERT_OK_AND_ASSIGN(LaunchBuffers buffers,
                         LaunchBuffers::Make(gpu(), problem, bytes, {.x = 8, .y = 16}));
    buffers_ = std::make_unique<LaunchBuffers>(std::move(buffers));
    ASSERT_API_OK(
        fusebox_workspace_init(op_, buffers_->workspace().as<void>(), bytes, gpu().stream()));
    ASSERT_STATUS_OK(
        kernels_->FillUniform(buffers_->x().View(kTokens), kActivationLimit, 7 * kSeed));
    ASSERT_STATUS_OK(
        kernels_->FillUniform(buffers_->residual().View(kTokens), kActivationLimit, 11 * kSeed));
  }

  void TearDown() override {
    (void)fusebox_binding_destroy(binding_);
    (void)fusebox_op_destroy(op_);
    binding_ = nullptr;
    op_ = nullptr;
    if (engine_ != nullptr) engine_->engine->Shutdown();
    engine_.reset();
  }

  void LaunchAndWait(const fusebox_ffn_args& args) {
    ASSERT_API_OK(fusebox_ffn_launch(binding_, &args, gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
  }

  fusebox_engine_stats_values Stats() {
    fusebox_engine_stats_values values = {.struct_size = sizeof(values)};
    EXPECT_EQ(fusebox_engine_stats(engine_.get(), &values), FUSEBOX_OK);
    return values;
  }

  std::unique_ptr<MeasureKernels> kernels_;
  std::unique_ptr<fusebox_engine> engine_;
  fusebox_op* op_ = nullptr;
  fusebox_binding* binding_ = nullptr;
  std::unique_ptr<FfnLayer> layer_;
  std::unique_ptr<LaunchBuffers> buffers_;
  std::mutex log_mutex_;
  std::vector<std::string> log_lines_;
};

TEST_F(ShadowTest, RightKernelsAreFoundRightInEveryResidualModeAndInPlace) {
  const std::string cache = MakeFolder("shadow-right");
  for (const auto& [norm, mode] :
       {std::pair(Norm::kNone, ResidualMode::kNone), std::pair(Norm::kRms, ResidualMode::kAddAfter),
        std::pair(Norm::kRms, ResidualMode::kAddBeforeNorm),
        std::pair(Norm::kRmsPlusOne, ResidualMode::kSandwich)}) {
    MakeReady(ProblemWith(norm, mode), cache);
    if (HasFatalFailure()) return;
    fusebox_ffn_args args = buffers_->Args(kTokens, mode);
    LaunchAndWait(args);
    if (mode == ResidualMode::kAddBeforeNorm) LaunchAndWait(buffers_->ArgsInPlace(kTokens));
    if (mode == ResidualMode::kAddAfter) {
      args.y = buffers_->residual().buffer().as<void>();
      args.y_stride = args.residual_stride;
      LaunchAndWait(args);
    }
    if (HasFatalFailure()) return;
    const bool is_twice = mode == ResidualMode::kAddBeforeNorm || mode == ResidualMode::kAddAfter;
    EXPECT_EQ(Stats().shadow_launches, is_twice ? 2u : 1u) << ToString(mode);
    EXPECT_EQ(Stats().shadow_wrong, 0u) << ToString(mode) << ": " << log_lines_.back();
    TearDown();
  }
}

TEST_F(ShadowTest, AWrongKernelIsCountedAndTold) {
  const std::string cache = MakeFolder("shadow-wrong");
  const FfnProblem problem = ProblemWith(Norm::kRms, ResidualMode::kAddBeforeNorm);
  MakeReady(problem, MakeFolder("shadow-plan"));  // for its plan
  if (HasFatalFailure()) return;
  const PlannedKernel& planned = op_->ffn->Planned(0);
  FusionPlan other = planned.report.best.plan;
  other.problem.activation = Activation::kGeluErf;  // instead of silu; the same shape in all else
  ASSERT_OK_AND_ASSIGN(const KernelSource wrong, Emit(other, TemplateSet::Embedded()));
  ASSERT_OK_AND_ASSIGN(const ServedKernel served,
                       gpu().kernels().GetOrCompile(wrong, CompilePermission::kAllowed));
  const auto silent = EventLog::Silent();
  CubinStore store({cache}, silent.get());
  ASSERT_STATUS_OK(store.Store(planned.source, *served.kernel));
  TearDown();

  MakeReady(problem, cache);
  if (HasFatalFailure()) return;
  LaunchAndWait(buffers_->Args(kTokens, problem.residual_mode));
  EXPECT_EQ(Stats().shadow_launches, 1u);
  EXPECT_EQ(Stats().shadow_wrong, 1u);
  ASSERT_FALSE(log_lines_.empty());
  EXPECT_THAT(log_lines_.back(),
              AllOf(HasSubstr("event=wrong"), HasSubstr("output=y"), HasSubstr("token="),
                    HasSubstr("expected="), HasSubstr("dsm_gather")));
}

TEST_F(ShadowTest, ACapturedLaunchRunsAndIsNotCompared) {
  MakeReady(ProblemWith(Norm::kNone, ResidualMode::kNone), MakeFolder("shadow-capture"));
  if (HasFatalFailure()) return;
  const fusebox_ffn_args args = buffers_->Args(kTokens, ResidualMode::kNone);
  ASSERT_OK_AND_ASSIGN(const CapturedGraph graph,
                       CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) {
                         return ApiStatus(fusebox_ffn_launch(binding_, &args, stream));
                       }));
  ASSERT_STATUS_OK(graph.Replay(gpu().stream()));
  ASSERT_STATUS_OK(gpu().Synchronize());
  EXPECT_EQ(Stats().shadow_launches, 0u);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> replayed, buffers_->TakeOutput(kTokens));
  LaunchAndWait(args);
  EXPECT_EQ(Stats().shadow_launches, 1u);
  EXPECT_EQ(Stats().shadow_wrong, 0u);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> launched, buffers_->TakeOutput(kTokens));
  EXPECT_EQ(replayed, launched);
}

}  // namespace
}  // namespace fusebox
