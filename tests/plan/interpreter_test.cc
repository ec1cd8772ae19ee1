#include "src/plan/interpreter.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace fusebox
