// Small integers with relu or relu squared: every sum is exact in fp32 in any order, so the
// kernel's bits must be the oracle's. Through the public API, at token counts around every tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/tools/ffn_layer.h"
#include "tests/gpu/device_case.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/kernels/plan_sample.h"
#include "tests/kernels/test_shapes.h"
#include "tests/reference/ffn_oracle.h"

namespace fusebox {
namespace {

constexpr int32_t kCounts[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128};

class ExactTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    fusebox_engine_options options = EngineOptions();
    options.compile_threads = 8;
    ASSERT_API_OK(engine_.Create(&options));
  }

  // The oracle of the first `tokens` rows: rows do not depend on each other.
  static reference::FfnReference FirstRows(const reference::FfnReference& all, int64_t count) {
    reference::FfnReference first = all;
    first.y.resize(static_cast<size_t>(count));
    first.tolerance.resize(static_cast<size_t>(count));
    first.bits.resize(static_cast<size_t>(count));
    return first;
  }

  void ExpectExact(const FfnProblem& problem, const WeightArrangement& arrangement) {
    ExpectExact(engine_, problem, arrangement);
  }
  void ExpectExact(api::Engine& engine, const FfnProblem& problem,
                   const WeightArrangement& arrangement);

  api::Engine engine_;
};

// Engines created while it lives take these plans.
class ForcedPlansInEnvironment {
 public:
  explicit ForcedPlansInEnvironment(const std::string& plans) {
    setenv("FUSEBOX_FORCE_PLAN", plans.c_str(), /*overwrite=*/1);
  }
  ~ForcedPlansInEnvironment() { unsetenv("FUSEBOX_FORCE_PLAN"); }
  ForcedPlansInEnvironment(const ForcedPlansInEnvironment&) = delete;
  ForcedPlansInEnvironment& operator=(const ForcedPlansInEnvironment&) = delete;
};

void ExactTest::ExpectExact(api::Engine& engine, const FfnProblem& problem,
                            const WeightArrangement& arrangement) {
  const int64_t hidden = problem.hidden.value();
  const reference::FfnCase values = reference::MakeSmallIntegerCase(problem, kMaxTokens, 3);
  const reference::FfnReference expected = reference::ComputeReference(values);
  ASSERT_TRUE(expected.is_exact) << values.description;
  ASSERT_OK_AND_ASSIGN(const DeviceCase on_device, DeviceCase::Make(gpu(), values, arrangement));
  api::Op op;
  ASSERT_API_OK(op.CreateFfn(engine, on_device.desc()));
  ASSERT_API_OK(op.Prepare(kCounts, std::size(kCounts), FUSEBOX_PREPARE_BACKGROUND));
  ASSERT_API_OK(engine.Wait());
  api::Binding binding;
  ASSERT_API_OK(binding.BindFfn(op, on_device.weights()));
  size_t workspace_bytes = 0;
  ASSERT_API_OK(op.WorkspaceSize(0, &workspace_bytes));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers,
                       LaunchBuffers::Make(gpu(), problem, workspace_bytes,
                                           {.x = arrangement.padding, .y = arrangement.padding}));
  ASSERT_API_OK(op.InitWorkspace(buffers.workspace().as<void>(), workspace_bytes, gpu().stream()));
  for (const int32_t tokens : kCounts) {
    SCOPED_TRACE(values.description + " M " + std::to_string(tokens));
    ASSERT_STATUS_OK(on_device.Load(buffers, tokens));
    ASSERT_STATUS_OK(buffers.PoisonPartials());
    ASSERT_API_OK(binding.LaunchFfn(buffers.Args(tokens, problem.residual_mode), gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, buffers.TakeOutput(tokens));
    const reference::Comparison comparison =
        reference::CompareExactly(values, FirstRows(expected, tokens * hidden), y);
    EXPECT_TRUE(comparison.ok()) << comparison.failure;
  }
}

TEST_F(ExactTest, BitsAreTheOraclesForEveryShapeAndTokenCount) {
  int index = 0;
  for (const FfnProblem& problem : ReluProblems()) {
    // Every other shape with leading dimensions above the width.
    ExpectExact(problem, {.padding = index++ % 4 < 2 ? 0 : 8});
    if (HasFatalFailure()) return;
  }
}

TEST_F(ExactTest, GateAndUpMayBeOneMatrixInEitherOrderOrTwo) {
  FfnProblem problem = {
      .hidden = DimK(360), .intermediate = DimN(720), .activation = Activation::kRelu};
  for (const WeightLayout layout : {WeightLayout::kOutIn, WeightLayout::kInOut}) {
    problem.layout = layout;
    for (const fusebox_gate_up gate_up :
         {FUSEBOX_GATE_UP_FUSED, FUSEBOX_GATE_UP_REVERSED, FUSEBOX_GATE_UP_SEPARATE}) {
      for (const int64_t padding : {0, 16}) {
        ExpectExact(problem, {.gate_up = gate_up, .padding = padding});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(ExactTest, ResidualIsAddedExactly) {
  for (const FfnForm form : {FfnForm::kGated, FfnForm::kPlain}) {
    for (const DType dtype : {DType::kBf16, DType::kFp16}) {
      ExpectExact({.hidden = DimK(520),
                   .intermediate = DimN(1000),
                   .dtype = dtype,
                   .activation = Activation::kRelu,
                   .form = form,
                   .residual_mode = ResidualMode::kAddAfter},
                  {.padding = 8});
      if (HasFatalFailure()) return;
    }
  }
}

// In all three arrangements of the gate's and the up projection's biases, on dims with tails.
TEST_F(ExactTest, BiasesAreAddedExactly) {
  struct BiasCase {
    FfnForm form;
    Activation activation;
    DType dtype;
    fusebox_gate_up gate_up;
    bool up_bias;
    bool down_bias;
  };
  using enum Activation;
  for (const BiasCase& one : {
           BiasCase{FfnForm::kGated, kRelu, DType::kBf16, FUSEBOX_GATE_UP_FUSED, true, true},
           BiasCase{FfnForm::kGated, kRelu, DType::kFp16, FUSEBOX_GATE_UP_REVERSED, true, false},
           BiasCase{FfnForm::kGated, kRelu, DType::kBf16, FUSEBOX_GATE_UP_SEPARATE, true, true},
           BiasCase{FfnForm::kPlain, kRelu, DType::kFp16, FUSEBOX_GATE_UP_FUSED, false, true},
           BiasCase{FfnForm::kPlain, kReluSquared, DType::kBf16, FUSEBOX_GATE_UP_FUSED, true, true},
       }) {
    ExpectExact({.hidden = DimK(360),
                 .intermediate = DimN(720),
                 .dtype = one.dtype,
                 .activation = one.activation,
                 .form = one.form,
                 .residual_mode = one.down_bias ? ResidualMode::kAddAfter : ResidualMode::kNone,
                 .up_bias = one.up_bias,
                 .down_bias = one.down_bias},
                {.gate_up = one.gate_up, .padding = 8});
    if (HasFatalFailure()) return;
  }
}

// Forced, a plan of each kind for each tile: what the search would not choose is exact too.
TEST_F(ExactTest, PlansOfEveryKindAreExactAtEveryTokenCount) {
  const FfnProblem problem = {
      .hidden = DimK(520), .intermediate = DimN(1000), .activation = Activation::kRelu};
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  std::vector<std::vector<FusionPlan>> of_tile;
  size_t num_engines = 0;
  for (const int tile : kTokenTiles) {
    of_tile.push_back(OneOfEachKind(LegalPlans(problem, tile, device)));
    num_engines = std::max(num_engines, of_tile.back().size());
  }
  for (size_t i = 0; i < num_engines; ++i) {
    std::string forced;
    for (const std::vector<FusionPlan>& plans : of_tile)
      forced += plans[i % plans.size()].ToJson() + "\n";
    SCOPED_TRACE(forced);
    const ForcedPlansInEnvironment environment(forced);
    fusebox_engine_options options = EngineOptions();
    options.compile_threads = 8;
    api::Engine engine;
    ASSERT_API_OK(engine.Create(&options));
    ExpectExact(engine, problem, {.padding = 8});
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace fusebox
