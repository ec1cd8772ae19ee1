// Every legal plan of small problems against the oracle, not just the chosen one: first those of
// each kind, in turn, as many as a time budget allows, compilation included.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/tools/forced_kernel.h"
#include "tests/gpu/device_case.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/kernels/plan_sample.h"
#include "tests/reference/ffn_oracle.h"

namespace fusebox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBudgetOfProblem = std::chrono::seconds(12);
constexpr size_t kBatch = 64;

struct DifferentialCase {
  std::string name;
  FfnProblem problem;
  int token_tile;
  int64_t tokens;
};

std::vector<DifferentialCase> Cases() {
  return {
      {"one_tile",
       {.hidden = DimK(8), .intermediate = DimN(8), .activation = Activation::kRelu},
       8,
       1},
      {"plain_tails",
       {.hidden = DimK(96),
        .intermediate = DimN(360),
        .activation = Activation::kGeluErf,
        .form = FfnForm::kPlain},
       16,
       9},
      {"gated_exact",
       {.hidden = DimK(360), .intermediate = DimN(720), .activation = Activation::kRelu},
       32,
       32},
      {"gated_residual",
       {.hidden = DimK(520), .intermediate = DimN(1000), .residual_mode = ResidualMode::kAddAfter},
       8,
       7},
      {"fused_rounding",
       {.hidden = DimK(520), .intermediate = DimN(1000), .rounding = Rounding::kFused},
       8,
       7},
      {"rms_add_before_norm",
       {.hidden = DimK(360),
        .intermediate = DimN(720),
        .dtype = DType::kFp16,
        .residual_mode = ResidualMode::kAddBeforeNorm,
        .norm = Norm::kRms},
       8,
       7},
      {"gemma_sandwich",
       {.hidden = DimK(520),
        .intermediate = DimN(1000),
        .activation = Activation::kGeluTanh,
        .residual_mode = ResidualMode::kSandwich,
        .norm = Norm::kRmsPlusOne},
       16,
       9},
      {"layer_bias_add_after",
       {.hidden = DimK(96),
        .intermediate = DimN(360),
        .activation = Activation::kReluSquared,
        .form = FfnForm::kPlain,
        .residual_mode = ResidualMode::kAddAfter,
        .norm = Norm::kLayer,
        .up_bias = true,
        .down_bias = true},
       32,
       31},
      {"in_out",
       {.hidden = DimK(192),
        .intermediate = DimN(456),
        .activation = Activation::kRelu,
        .form = FfnForm::kGated,
        .layout = WeightLayout::kInOut},
       16,
       11},
      {"in_out_bias_t128",
       {.hidden = DimK(360),
        .intermediate = DimN(1000),
        .activation = Activation::kGeluTanh,
        .form = FfnForm::kPlain,
        .residual_mode = ResidualMode::kAddAfter,
        .norm = Norm::kLayer,
        .up_bias = true,
        .down_bias = true,
        .layout = WeightLayout::kInOut},
       128,
       99},
      {"gpt2_as_transformers",
       {.hidden = DimK(96),
        .intermediate = DimN(360),
        .activation = Activation::kGeluNew,
        .form = FfnForm::kPlain,
        .residual_mode = ResidualMode::kAddAfter,
        .norm = Norm::kLayer,
        .up_bias = true,
        .down_bias = true,
        .layout = WeightLayout::kInOut},
       8,
       7},
      {"gelu_new_fp16",
       {.hidden = DimK(360),
        .intermediate = DimN(712),
        .dtype = DType::kFp16,
        .activation = Activation::kGeluNew,
        .form = FfnForm::kPlain},
       64,
       33},
      {"gated_t64",
       {.hidden = DimK(520), .intermediate = DimN(1000), .activation = Activation::kRelu},
       64,
       64},
      {"sandwich_t64",
       {.hidden = DimK(264),
        .intermediate = DimN(712),
        .activation = Activation::kGeluTanh,
        .residual_mode = ResidualMode::kSandwich,
        .norm = Norm::kRmsPlusOne},
       64,
       33},
      {"add_before_norm_t128",
       {.hidden = DimK(360),
        .intermediate = DimN(712),
        .residual_mode = ResidualMode::kAddBeforeNorm,
        .norm = Norm::kRms},
       128,
       128},
      {"plain_wide",
       {.hidden = DimK(2048),
        .intermediate = DimN(168),
        .activation = Activation::kRelu,
        .form = FfnForm::kPlain},
       16,
       16},
  };
}

class DifferentialTest : public GpuTest, public testing::WithParamInterface<DifferentialCase> {
 protected:
  // Into the session's memory, on all cores.
  void CompileAll(const std::vector<FusionPlan>& plans) const {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([&] {
        for (size_t k = next++; k < plans.size(); k = next++) {
          const auto source = Emit(plans[k], TemplateSet::Embedded());
          if (source.ok()) (void)gpu().kernels().GetOrCompile(*source, gpu().permission());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(DifferentialTest, LegalPlansEqualTheOracle) {
  const DifferentialCase& one = GetParam();
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  const std::vector<FusionPlan> legal = LegalPlans(one.problem, one.token_tile, device);
  const std::vector<FusionPlan> plans = Stratified(legal, legal.size());
  const bool is_relu =
      one.problem.activation == Activation::kRelu && one.problem.norm == Norm::kNone;
  const reference::FfnCase values =
      is_relu ? reference::MakeSmallIntegerCase(one.problem, one.tokens, 7)
              : reference::MakeRandomCase(one.problem, one.tokens, 7);
  const reference::FfnReference expected = reference::ComputeReference(values);
  ASSERT_OK_AND_ASSIGN(const DeviceCase on_device, DeviceCase::Make(gpu(), values));
  size_t workspace_bytes = 0;
  for (const FusionPlan& plan : plans) {
    workspace_bytes = std::max(workspace_bytes, static_cast<size_t>(WorkspaceBytes(plan)));
  }
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers,
                       LaunchBuffers::Make(gpu(), one.problem, workspace_bytes, {.x = 8, .y = 8}));
  FfnOperandViews views = on_device.views();
  views.x = buffers.x().View(one.tokens);
  views.residual = buffers.residual().View(one.tokens);
  ASSERT_STATUS_OK(buffers.InitWorkspaceByHand());

  const auto start = Clock::now();
  size_t num_run = 0;
  double worst_ratio = 0;
  while (num_run < plans.size() && Clock::now() - start < kBudgetOfProblem) {
    const size_t end = std::min(plans.size(), num_run + kBatch);
    CompileAll({plans.begin() + static_cast<std::ptrdiff_t>(num_run),
                plans.begin() + static_cast<std::ptrdiff_t>(end)});
    for (; num_run < end; ++num_run) {
      SCOPED_TRACE(plans[num_run].ToJson());
      const auto kernel = ForcedKernel::Make(gpu(), plans[num_run]);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      ASSERT_STATUS_OK(on_device.Load(buffers, one.tokens));
      ASSERT_STATUS_OK(buffers.PoisonPartials());
      ASSERT_OK_AND_ASSIGN(const FfnParams params, kernel->Params(views, buffers));
      ASSERT_STATUS_OK(kernel->Launch(params, ProgrammaticOverlap::kAllowed, gpu().stream()));
      ASSERT_STATUS_OK(gpu().Synchronize());
      ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, buffers.TakeOutput(one.tokens));
      const reference::Comparison comparison =
          is_relu ? reference::CompareExactly(values, expected, y)
                  : reference::CompareWithinBound(values, expected, y);
      ASSERT_TRUE(comparison.ok()) << comparison.failure;
      worst_ratio = std::max(worst_ratio, comparison.worst_ratio);
      if (expected.residual_out.empty()) continue;
      ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> sums,
                           buffers.residual_out().TakeRows(one.tokens));
      const reference::Comparison of_sums = reference::CompareResidualOut(values, expected, sums);
      ASSERT_TRUE(of_sums.ok()) << of_sums.failure;
    }
  }
  std::printf("plans %s: %zu of %zu legal plans run, %zu kinds, worst error/bound %.3f%s\n",
              one.name.c_str(), num_run, legal.size(), KindsOf(legal).size(), worst_ratio,
              is_relu ? " (bitwise)" : "");
  EXPECT_GE(num_run, std::min<size_t>(legal.size(), 64));
}

INSTANTIATE_TEST_SUITE_P(Small, DifferentialTest, testing::ValuesIn(Cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace fusebox
