// The same launch gives the same bits: 200 repeats of each shape, with PDL on and off, alone and
// back to back in a graph, on one workspace and on two streams with two; and jitter builds, whose
// warps sleep at random where roles meet, give those of the plain build.
#include <gtest/gtest.h>

#include <optional>

#include "runtime/tools/captured_graph.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/forced_kernel.h"
#include "src/device/device_profiles.h"
#include "src/plan/search.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/kernels/plan_sample.h"

namespace fusebox {
namespace {

constexpr int kRepeats = 200;
constexpr int kLaunchesInGraph = 20;

struct Shape {
  FfnProblem problem;
  int64_t tokens;
};

FfnProblem Gated(int64_t hidden, int64_t intermediate) {
  return {.hidden = DimK(hidden), .intermediate = DimN(intermediate)};
}
FfnProblem Plain(int64_t hidden, int64_t intermediate, Activation activation) {
  return {.hidden = DimK(hidden),
          .intermediate = DimN(intermediate),
          .activation = activation,
          .form = FfnForm::kPlain};
}

FfnProblem Normed(FfnProblem problem, Norm norm, ResidualMode mode, DType dtype) {
  problem.norm = norm;
  problem.residual_mode = mode;
  problem.dtype = dtype;
  return problem;
}

FfnProblem InOut(FfnProblem problem) {
  problem.layout = WeightLayout::kInOut;
  return problem;
}

std::vector<Shape> Shapes() {
  return {{Normed(Gated(2048, 8192), Norm::kRms, ResidualMode::kAddBeforeNorm, DType::kBf16), 9},
          {Normed(Gated(520, 1000), Norm::kRmsPlusOne, ResidualMode::kSandwich, DType::kFp16), 17},
          {Normed(Plain(768, 3072, Activation::kGeluTanh), Norm::kLayer, ResidualMode::kAddAfter,
                  DType::kFp16),
           32},
          {Gated(4096, 11008), 1},
          {Gated(4096, 11008), 128},
          {Normed(Gated(4096, 14336), Norm::kRms, ResidualMode::kAddBeforeNorm, DType::kBf16), 64},
          {Gated(1024, 3072), 100},
          {InOut(Plain(768, 3072, Activation::kGeluTanh)), 65},
          {Gated(4096, 14336), 8},
          {Gated(2048, 8192), 17},
          {Gated(896, 4864), 5},
          {Gated(1536, 8960), 32},
          {Gated(1024, 3072), 1},
          {Plain(2048, 8192, Activation::kRelu), 16},
          {Plain(2560, 10240, Activation::kGeluErf), 9},
          {Gated(520, 1000), 31},
          {Plain(96, 360, Activation::kGeluErf), 3}};
}

// y, and behind it residual_out of an op that writes it.
absl::StatusOr<std::vector<uint16_t>> TakeOutputs(const LaunchBuffers& buffers,
                                                  const Shape& shape) {
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<uint16_t> outputs, buffers.TakeOutput(shape.tokens));
  const bool has_sums = shape.problem.residual_mode == ResidualMode::kAddBeforeNorm;
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> sums,
                           buffers.residual_out().TakeRows(has_sums ? shape.tokens : 0));
  outputs.insert(outputs.end(), sums.begin(), sums.end());
  return outputs;
}

// One shape on an engine: a random layer, and as many sets of buffers as a test wants.
class Repeater {
 public:
  Repeater(GpuSession* session, const Shape& shape) : session_(session), shape_(shape) {}

  void Prepare(const fusebox_engine_options& options, int num_buffers) {
    ASSERT_API_OK(engine_.Create(&options));
    ASSERT_API_OK(op_.CreateFfn(engine_, DescOf(shape_.problem)));
    const auto tokens = static_cast<int32_t>(shape_.tokens);
    ASSERT_API_OK(op_.Prepare(&tokens, 1));
    ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(*session_));
    ASSERT_OK_AND_ASSIGN(FfnLayer layer, FfnLayer::Make(*session_, kernels, shape_.problem, 5));
    layer_.emplace(std::move(layer));
    ASSERT_API_OK(binding_.BindFfn(op_, layer_->weights()));
    size_t bytes = 0;
    ASSERT_API_OK(op_.WorkspaceSize(tokens, &bytes));
    for (int i = 0; i < num_buffers; ++i) {
      ASSERT_OK_AND_ASSIGN(LaunchBuffers buffers,
                           LaunchBuffers::Make(*session_, shape_.problem, bytes));
      ASSERT_STATUS_OK(kernels.FillUniform(buffers.x().View(shape_.tokens), kActivationLimit, 99));
      ASSERT_STATUS_OK(
          kernels.FillUniform(buffers.residual().View(shape_.tokens), kActivationLimit, 98));
      ASSERT_API_OK(op_.InitWorkspace(buffers.workspace().as<void>(), bytes, session_->stream()));
      buffers_.push_back(std::move(buffers));
    }
    ASSERT_STATUS_OK(session_->Synchronize());
  }

  // Buffers `index`, but the workspace of buffers `workspace`.
  absl::Status Launch(size_t index, size_t workspace, CUstream stream) const {
    fusebox_ffn_args args = buffers_[index].Args(shape_.tokens, shape_.problem.residual_mode);
    args.workspace = buffers_[workspace].workspace().as<void>();
    return ApiStatus(binding_.LaunchFfn(args, stream).code());
  }

  // What buffers `index` hold; their outputs are NaN again afterwards.
  std::vector<uint16_t> Take(size_t index) const {
    const auto outputs = TakeOutputs(buffers_[index], shape_);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    for (const TokenMatrix* matrix : {&buffers_[index].y(), &buffers_[index].residual_out()}) {
      const absl::Status poisoned = matrix->Poison();
      EXPECT_TRUE(poisoned.ok()) << poisoned;
    }
    return outputs.ok() ? *outputs : std::vector<uint16_t>();
  }

  size_t num_buffers() const { return buffers_.size(); }

 private:
  GpuSession* const session_;
  const Shape shape_;
  api::Engine engine_;
  api::Op op_;
  std::optional<FfnLayer> layer_;
  api::Binding binding_;
  std::vector<LaunchBuffers> buffers_;
};

class DeterminismTest : public GpuTest {
 protected:
  void ExpectRepeatable(const Shape& shape, fusebox_switch pdl,
                        std::vector<uint16_t>& expected) const;
  void ExpectTwoStreamsAlike(const Repeater& repeater, const std::vector<uint16_t>& expected) const;
  void ExpectJitterAlike(const MeasureKernels& kernels, const Shape& shape,
                         const FusionPlan& plan) const;
};

void DeterminismTest::ExpectRepeatable(const Shape& shape, fusebox_switch pdl,
                                       std::vector<uint16_t>& expected) const {
  SCOPED_TRACE(shape.problem.Name() + " M " + std::to_string(shape.tokens) +
               (pdl == FUSEBOX_SWITCH_ON ? " with PDL" : " without PDL"));
  fusebox_engine_options options = EngineOptions();
  options.pdl = pdl;
  Repeater repeater(&gpu(), shape);
  repeater.Prepare(options, kLaunchesInGraph);
  if (HasFatalFailure()) return;
  for (int i = 0; i < kRepeats; ++i) {
    ASSERT_STATUS_OK(repeater.Launch(0, 0, gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    const std::vector<uint16_t> y = repeater.Take(0);
    if (expected.empty()) expected = y;  // the first of all: both PDL settings are held to it
    ASSERT_EQ(y, expected) << "alone, repeat " << i;
  }
  ASSERT_OK_AND_ASSIGN(const CapturedGraph graph,
                       CapturedGraph::Capture(gpu(), gpu().stream(), [&](CUstream stream) {
                         absl::Status status;
                         for (size_t i = 0; i < repeater.num_buffers(); ++i) {
                           status.Update(repeater.Launch(i, 0, stream));
                         }
                         return status;
                       }));
  for (int i = 0; i < kRepeats / kLaunchesInGraph; ++i) {
    ASSERT_STATUS_OK(graph.Replay(gpu().stream()));
    ASSERT_STATUS_OK(gpu().Synchronize());
    for (size_t k = 0; k < repeater.num_buffers(); ++k) {
      ASSERT_EQ(repeater.Take(k), expected) << "replay " << i << ", launch " << k;
    }
  }
  ExpectTwoStreamsAlike(repeater, expected);
}

void DeterminismTest::ExpectTwoStreamsAlike(const Repeater& repeater,
                                            const std::vector<uint16_t>& expected) const {
  ASSERT_OK_AND_ASSIGN(const UniqueStream other, gpu().MakeStream());
  const CUstream streams[] = {gpu().stream(), other.get()};
  const size_t half = repeater.num_buffers() / 2;
  std::vector<CapturedGraph> graphs;
  for (size_t s = 0; s < 2; ++s) {
    ASSERT_OK_AND_ASSIGN(CapturedGraph graph,
                         CapturedGraph::Capture(gpu(), streams[s], [&](CUstream stream) {
                           absl::Status status;
                           for (size_t i = 0; i < half; ++i) {
                             status.Update(repeater.Launch(s * half + i, s * half, stream));
                           }
                           return status;
                         }));
    graphs.push_back(std::move(graph));
  }
  for (int i = 0; i < kRepeats / kLaunchesInGraph; ++i) {
    for (size_t s = 0; s < 2; ++s) ASSERT_STATUS_OK(graphs[s].Replay(streams[s]));
    for (const CUstream stream : streams) {
      ASSERT_STATUS_OK(gpu().Check(gpu().api().StreamSynchronize(stream), "cuStreamSynchronize"));
    }
    for (size_t k = 0; k < repeater.num_buffers(); ++k) {
      ASSERT_EQ(repeater.Take(k), expected) << "two streams, replay " << i << ", launch " << k;
    }
  }
}

TEST_F(DeterminismTest, EveryShapeRepeatsItsBits) {
  for (const Shape& shape : Shapes()) {
    std::vector<uint16_t> expected;
    for (const fusebox_switch pdl : {FUSEBOX_SWITCH_OFF, FUSEBOX_SWITCH_ON}) {
      ExpectRepeatable(shape, pdl, expected);
      if (HasFatalFailure()) return;
    }
  }
}

// The plain build's bits are repeated by itself and by three jitter builds.
void DeterminismTest::ExpectJitterAlike(const MeasureKernels& kernels, const Shape& shape,
                                        const FusionPlan& plan) const {
  SCOPED_TRACE(shape.problem.Name() + " " + plan.Summary());
  ASSERT_OK_AND_ASSIGN(const FfnLayer layer, FfnLayer::Make(gpu(), kernels, shape.problem, 5));
  FfnOperandViews views = layer.views();
  std::vector<uint16_t> expected;
  for (const int seed : {0, 1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(
        const ForcedKernel kernel,
        ForcedKernel::Make(gpu(), plan, {.bounded_spins = seed > 0, .jitter_seed = seed}));
    ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers,
                         LaunchBuffers::Make(gpu(), shape.problem, kernel.workspace_bytes()));
    views.x = buffers.x().View(shape.tokens);
    views.residual = buffers.residual().View(shape.tokens);
    ASSERT_STATUS_OK(kernels.FillUniform(views.x, kActivationLimit, 99));
    ASSERT_STATUS_OK(kernels.FillUniform(views.residual, kActivationLimit, 98));
    ASSERT_STATUS_OK(buffers.InitWorkspaceByHand());
    ASSERT_OK_AND_ASSIGN(const FfnParams params, kernel.Params(views, buffers));
    for (int i = 0; i < 20; ++i) {
      ASSERT_STATUS_OK(buffers.y().Poison());
      ASSERT_STATUS_OK(buffers.residual_out().Poison());
      ASSERT_STATUS_OK(buffers.PoisonPartials());
      // Two in a row, so that the second starts while the first still runs.
      ASSERT_STATUS_OK(kernel.Launch(params, ProgrammaticOverlap::kAllowed, gpu().stream()));
      ASSERT_STATUS_OK(kernel.Launch(params, ProgrammaticOverlap::kAllowed, gpu().stream()));
      ASSERT_STATUS_OK(gpu().Synchronize());
      ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> outputs, TakeOutputs(buffers, shape));
      if (expected.empty()) expected = outputs;
      ASSERT_EQ(outputs, expected) << "seed " << seed << ", repeat " << i;
    }
  }
}

TEST_F(DeterminismTest, JitterBuildsGiveThePlainBuildsBits) {
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(gpu()));
  for (const Shape& shape : Shapes()) {
    const int tile = TokenTileFor(shape.tokens).value();
    ExpectJitterAlike(kernels, shape, Search(shape.problem, tile, device).value().best.plan);
    if (HasFatalFailure()) return;
  }
}

// What the search would not choose for these too.
TEST_F(DeterminismTest, JitterBuildsOfEveryKindGiveThePlainBuildsBits) {
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(gpu()));
  const FfnProblem normed =
      Normed(Gated(1024, 3072), Norm::kRms, ResidualMode::kAddBeforeNorm, DType::kBf16);
  for (const Shape& shape :
       {Shape{Gated(520, 1000), 13}, Shape{Gated(1024, 3072), 61}, Shape{normed, 125}}) {
    const int tile = TokenTileFor(shape.tokens).value();
    for (const FusionPlan& plan : OneOfEachKind(LegalPlans(shape.problem, tile, device))) {
      ExpectJitterAlike(kernels, shape, plan);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace fusebox
