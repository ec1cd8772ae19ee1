#include "src/plan/interpreter.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "src/base/bf16.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(InterpreterTest, RefusesOperandsOfOtherShapes) {
  FusionPlan plan = SomePlan();
  plan.problem = {.hidden = DimK(8), .intermediate = DimN(16)};
  const std::vector<uint16_t> weights(8 * 16);
  const std::vector<uint16_t> x(2 * 8);
  const FfnOperands good{.tokens = 2, .gate = weights, .up = weights, .down = weights, .x = x};
  FfnOperands operands = good;
  operands.gate = {};
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: gate has 0 elements; the problem has 128");
  operands = good;
  operands.residual = x;
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: residual has 16 elements; the problem has 0");
  operands = good;
  operands.tokens = 9;
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: 9 tokens; the plan's tile holds 8");
}

TEST(InterpreterTest, RefusesVectorsThatTheProblemDoesNotHaveOrLacks) {
  FusionPlan plan = SomePlan();
  plan.problem = {.hidden = DimK(8), .intermediate = DimN(16)};
  const std::vector<uint16_t> weights(8 * 16);
  const std::vector<uint16_t> x(2 * 8);
  const std::vector<uint16_t> vector(8);
  const FfnOperands bare{.tokens = 2, .gate = weights, .up = weights, .down = weights, .x = x};
  FfnOperands operands = bare;
  operands.norm_weight = vector;
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: norm_weight has 8 elements; the problem has 0");
  plan.problem.up_bias = true;
  EXPECT_EQ(Interpret(plan, bare).status().message(),
            "interpreter: gate_bias has 0 elements; the problem has 16");
  plan.problem.up_bias = false;
  plan.problem.down_bias = true;
  EXPECT_EQ(Interpret(plan, bare).status().message(),
            "interpreter: down_bias has 0 elements; the problem has 8");
  plan.problem.down_bias = false;
  plan.problem.norm = Norm::kRms;
  plan.problem.residual_mode = ResidualMode::kSandwich;
  operands = bare;
  operands.norm_weight = vector;
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: second_norm_weight has 0 elements; the problem has 8");
  plan.problem.residual_mode = ResidualMode::kAddBeforeNorm;
  EXPECT_EQ(Interpret(plan, operands).status().message(),
            "interpreter: residual has 0 elements; the problem has 16");
}

// y of one token and one nonzero output: h is 1 at the first element of each of four parts of k,
// with these four weights there.
float SumOfParts(const std::array<float, 4>& weights) {
  constexpr int64_t kIntermediate = 256, kHidden = 8;
  std::vector<uint16_t> up(kIntermediate * kHidden), down(kHidden * kIntermediate), x(kHidden);
  x[0] = FloatToBf16(1.0f);
  for (size_t part = 0; part < weights.size(); ++part) {
    up[part * 64 * kHidden] = FloatToBf16(1.0f);
    down[part * 64] = FloatToBf16(weights[part]);
  }
  const FusionPlan plan = {.problem = {.hidden = DimK(kHidden),
                                       .intermediate = DimN(kIntermediate),
                                       .activation = Activation::kRelu,
                                       .form = FfnForm::kPlain},
                           .token_tile = 8,
                           .cluster_size = 4,
                           .num_clusters = 1,
                           .up = {.rows_per_pass = 64, .k_per_slot = 64},
                           .down = {.rows_per_pass = 8, .k_per_slot = 64, .k_ctas = 4},
                           .edge_scope = Scope::kGrid,
                           .combine = Combine::kDsmReduceScatter};
  const FfnOperands operands{.tokens = 1, .up = up, .down = down, .x = x};
  return Bf16ToFloat(Interpret(plan, operands).value().y[0]);
}

// 2^24 + 1 is 2^24 in fp32, so that the order shows.
TEST(InterpreterTest, AddsThePartsOfCtasThatSplitKInTheOrderOfK) {
  constexpr float kLarge = 16777216.0f;
  EXPECT_EQ(SumOfParts({kLarge, 1, -kLarge, 0}), 0.0f);
  EXPECT_EQ(SumOfParts({kLarge, -kLarge, 1, 0}), 1.0f);
  EXPECT_EQ(SumOfParts({0, kLarge, -kLarge, 1}), 1.0f);
  EXPECT_EQ(SumOfParts({1, kLarge, -kLarge, 0}), 0.0f);
}

}  // namespace
}  // namespace fusebox
