#include "src/plan/unfused_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

// A device of round numbers, so that each term can be worked out by hand: 1 GB/s is 1e3 bytes/us,
// 1 TFLOP/s is 1e6 flops/us.
DeviceSpec RoundDevice() {
  DeviceSpec device;
  device.unfused = {.gemm_us = 3,
                    .gemm_gb_per_s = 1,
                    .gemm_tflops = 1e6,
                    .elementwise_us = 2,
                    .elementwise_gb_per_s = 1};
  return device;
}

FfnProblem Block(FfnForm form) {
  return {.hidden = DimK(1000), .intermediate = DimN(500), .form = form};
}

// tokens 1, in 2-byte elements: weights and both activations of each GEMM; 2 kernels of 2 and of 3
// operands for a gated activation, 1 of 2 for a plain one.
TEST(UnfusedCostTest, CountsEveryByteAndKernel) {
  const UnfusedCost gated = EstimateUnfused(Block(FfnForm::kGated), 1, RoundDevice());
  EXPECT_DOUBLE_EQ(gated.norm_us, 0);
  EXPECT_NEAR(gated.up_us, 3 + 2 * (1000 * 1000 + 1000 + 1000) / 1e3, 1e-6);
  EXPECT_NEAR(gated.activation_us, 2 * 2 + 2 * 5 * 500 / 1e3, 1e-9);
  EXPECT_NEAR(gated.down_us, 3 + 2 * (1000 * 500 + 500 + 1000) / 1e3, 1e-6);
  EXPECT_DOUBLE_EQ(gated.us(), gated.up_us + gated.activation_us + gated.down_us);

  const UnfusedCost plain = EstimateUnfused(Block(FfnForm::kPlain), 1, RoundDevice());
  EXPECT_NEAR(plain.up_us, 3 + 2 * (500 * 1000 + 1000 + 500) / 1e3, 1e-6);
  EXPECT_NEAR(plain.activation_us, 2 + 2 * 2 * 500 / 1e3, 1e-9);
  EXPECT_DOUBLE_EQ(plain.down_us, gated.down_us);
}

TEST(UnfusedCostTest, StreamAndMmasAddAsSquares) {
  DeviceSpec device = RoundDevice();
  device.unfused.gemm_gb_per_s = 1e6;  // 1000 bytes are 1e-6 us
  device.unfused.gemm_tflops = 1;
  const double flops_us = 2.0 * 8 * 1000 * 1000 / 1e6;
  EXPECT_NEAR(EstimateUnfused(Block(FfnForm::kGated), 8, device).up_us, 3 + flops_us, 1e-3);
  device.unfused.gemm_gb_per_s = 2 * (1e6 + 8 * 2000) / (1e3 * flops_us);  // as long as the MMAs
  EXPECT_NEAR(EstimateUnfused(Block(FfnForm::kGated), 8, device).up_us, 3 + std::sqrt(2) * flops_us,
              1e-9);
}

TEST(UnfusedCostTest, NormsAndResidualsAreKernelsOfTheirOwn) {
  constexpr double kOperandUs = 2 * 1000 / 1e3;  // [1, hidden], read or written once
  const struct {
    Norm norm;
    ResidualMode mode;
    int kernels;
    int operands;
  } cases[] = {{Norm::kNone, ResidualMode::kNone, 0, 0},
               {Norm::kRms, ResidualMode::kNone, 1, 2},
               {Norm::kLayer, ResidualMode::kNone, 1, 2},
               {Norm::kRms, ResidualMode::kAddBeforeNorm, 1, 4},
               {Norm::kNone, ResidualMode::kAddAfter, 1, 3},
               {Norm::kRms, ResidualMode::kAddAfter, 2, 5},
               {Norm::kRmsPlusOne, ResidualMode::kSandwich, 3, 7}};
  for (const auto& [norm, mode, kernels, operands] : cases) {
    FfnProblem problem = Block(FfnForm::kGated);
    problem.norm = norm;
    problem.residual_mode = mode;
    EXPECT_NEAR(EstimateUnfused(problem, 1, RoundDevice()).norm_us,
                2 * kernels + operands * kOperandUs, 1e-9)
        << ToString(norm) << " " << ToString(mode);
  }
}

TEST(UnfusedCostTest, JsonHoldsEveryTerm) {
  FfnProblem problem = Block(FfnForm::kGated);
  problem.norm = Norm::kRms;
  const UnfusedCost cost = EstimateUnfused(problem, 8, H200());
  const auto json = nlohmann::json::parse(cost.ToJson());
  EXPECT_NEAR(json["us"].get<double>(), cost.us(), 5e-4);
  EXPECT_NEAR(json["norm_us"].get<double>() + json["up_us"].get<double>() +
                  json["activation_us"].get<double>() + json["down_us"].get<double>(),
              cost.us(), 2e-3);
}

}  // namespace
}  // namespace fusebox
