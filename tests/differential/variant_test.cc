// Every variant of the op through the plan interpreter on a few plans of every kind: within the
// oracle's bound, x + residual bit for bit, and where no norm is in the way bitwise equal on small
// integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/device/device_profiles.h"
#include "src/shape/element.h"
#include "tests/differential/case_operands.h"
#include "tests/kernels/plan_sample.h"
#include "tests/reference/ffn_oracle.h"
#include "tests/reference/variant_problems.h"

namespace fusebox {
namespace {

constexpr size_t kPlansOfEach = 6;

struct Variant {
  FfnProblem problem;
  int token_tile;
  int64_t tokens;
};

// Dims with tails, and some that give several clusters, ranks and passes; token tiles take turns.
std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const auto& [hidden, intermediate] : {std::pair(72, 48), std::pair(136, 1000)}) {
    for (const FfnProblem& problem : VariantProblems(hidden, intermediate)) {
      const int tile = kTokenTiles[variants.size() % kTokenTiles.size()];
      variants.push_back(
          {.problem = problem, .token_tile = tile, .tokens = variants.size() % 2 ? tile - 1 : 3});
    }
  }
  return variants;
}

std::vector<FusionPlan> PlansOf(const Variant& variant) {
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  return Stratified(LegalPlans(variant.problem, variant.token_tile, device), kPlansOfEach);
}

class VariantTest : public testing::TestWithParam<Variant> {};

TEST_P(VariantTest, StaysWithinTheOraclesBound) {
  const Variant& variant = GetParam();
  const reference::FfnCase input = reference::MakeRandomCase(variant.problem, variant.tokens, 4);
  const reference::FfnReference expected = reference::ComputeReference(input);
  const std::vector<FusionPlan> plans = PlansOf(variant);
  ASSERT_FALSE(plans.empty());
  double worst_ratio = 0;
  for (const FusionPlan& plan : plans) {
    const FfnOutputs outputs = Interpret(plan, OperandsOf(input)).value();
    const auto close = reference::CompareWithinBound(input, expected, outputs.y);
    ASSERT_TRUE(close.ok()) << close.failure << "\n" << plan.ToJson();
    const auto equal = reference::CompareResidualOut(input, expected, outputs.residual_out);
    ASSERT_TRUE(equal.ok()) << equal.failure << "\n" << plan.ToJson();
    worst_ratio = std::max(worst_ratio, close.worst_ratio);
  }
  RecordProperty("worst_error_over_bound", std::to_string(worst_ratio));
}

// The same problem without its norm, and with an activation that keeps integers.
TEST_P(VariantTest, IsExactOnSmallIntegersWithoutANorm) {
  Variant variant = GetParam();
  FfnProblem& problem = variant.problem;
  problem.norm = Norm::kNone;
  if (problem.residual_mode != ResidualMode::kNone) problem.residual_mode = ResidualMode::kAddAfter;
  if (problem.activation != Activation::kReluSquared) problem.activation = Activation::kRelu;
  const reference::FfnCase input = reference::MakeSmallIntegerCase(problem, variant.tokens, 4);
  const reference::FfnReference expected = reference::ComputeReference(input);
  ASSERT_TRUE(expected.is_exact) << input.description;
  for (const FusionPlan& plan : PlansOf(variant)) {
    const auto equal =
        reference::CompareExactly(input, expected, Interpret(plan, OperandsOf(input)).value().y);
    ASSERT_TRUE(equal.ok()) << equal.failure << "\n" << plan.ToJson();
  }
}

// x has a single 1 a row and down is the identity: y is the activation of the weights, which go
// from -4 to 4. A sum over many h would hide what the roundings inside the activation make of one.
reference::FfnCase ActivationAlone(Activation activation, DType dtype) {
  constexpr int64_t kDim = 64;
  constexpr size_t kCount = kDim * kDim;
  reference::FfnCase input = {.problem = {.hidden = DimK(kDim),
                                          .intermediate = DimN(kDim),
                                          .dtype = dtype,
                                          .activation = activation,
                                          .form = FfnForm::kPlain},
                              .tokens = kDim,
                              .description = "ActivationAlone"};
  for (size_t i = 0; i < kCount; ++i) {
    const bool is_diagonal = i / kDim == i % kDim;
    input.x.push_back(FloatToElement(dtype, is_diagonal ? 1.0f : 0.0f));
    input.up.push_back(FloatToElement(dtype, 8.0f * static_cast<float>(i) / kCount - 4.0f));
  }
  input.down = input.x;
  return input;
}

TEST(GeluNewTest, IsNotTheGeluThatRoundsOnce) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const reference::FfnCase input = ActivationAlone(Activation::kGeluNew, dtype);
    const reference::FfnReference expected = reference::ComputeReference(input);
    for (const Activation activation : {Activation::kGeluNew, Activation::kGeluTanh}) {
      const reference::FfnCase run = ActivationAlone(activation, dtype);
      const std::vector<FusionPlan> plans =
          PlansOf({.problem = run.problem, .token_tile = 64, .tokens = run.tokens});
      ASSERT_FALSE(plans.empty());
      const FfnOutputs outputs = Interpret(plans[0], OperandsOf(run)).value();
      const auto comparison = reference::CompareWithinBound(input, expected, outputs.y);
      EXPECT_EQ(comparison.ok(), activation == Activation::kGeluNew)
          << ToString(activation) << " " << ToString(dtype) << " " << comparison.failure;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, VariantTest, testing::ValuesIn(Variants()),
                         [](const testing::TestParamInfo<Variant>& param) {
                           return param.param.problem.Name() + "_t" +
                                  std::to_string(param.param.token_tile);
                         });

TEST(LayerNormWithoutBiasTest, EqualsOneWithABiasOfZero) {
  const FfnProblem problem = {.hidden = DimK(72), .intermediate = DimN(48), .norm = Norm::kLayer};
  reference::FfnCase input = reference::MakeRandomCase(problem, 3, 6);
  const FusionPlan plan = PlansOf({.problem = problem, .token_tile = 8, .tokens = 3}).front();
  std::fill(input.norm_bias.begin(), input.norm_bias.end(), uint16_t{0});
  const std::vector<uint16_t> with_zeros = Interpret(plan, OperandsOf(input)).value().y;
  input.norm_bias.clear();
  EXPECT_EQ(Interpret(plan, OperandsOf(input)).value().y, with_zeros);
  EXPECT_TRUE(
      reference::CompareWithinBound(input, reference::ComputeReference(input), with_zeros).ok());
}

// An output that a plan leaves out must stay NaN to the end, through a residual and a second norm.
TEST(BrokenPlanTest, LeavesNanInEveryResidualMode) {
  for (const auto& [norm, mode] : NormsAndResidualModes()) {
    const FfnProblem problem = {
        .hidden = DimK(264), .intermediate = DimN(72), .residual_mode = mode, .norm = norm};
    const reference::FfnCase input = reference::MakeRandomCase(problem, 2, 8);
    FusionPlan plan = PlansOf({.problem = problem, .token_tile = 8, .tokens = 2}).front();
    plan.down.rows_per_pass = 8;  // no longer covers hidden
    plan.down.passes = 1;
    const FfnOutputs outputs = Interpret(plan, OperandsOf(input)).value();
    EXPECT_TRUE(std::isnan(ElementToFloat(problem.dtype, outputs.y.back()))) << problem.Name();
  }
}

}  // namespace
}  // namespace fusebox
