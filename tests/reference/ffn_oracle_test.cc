#include "tests/reference/ffn_oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/base/bf16.h"
#include "tests/reference/error_bound.h"

namespace fusebox::reference {
namespace {

std::vector<uint16_t> Bits(std::initializer_list<float> values) {
  std::vector<uint16_t> bits;
  for (float value : values) bits.push_back(FloatToBf16(value));
  return bits;
}

// hidden 2, intermediate 1, one token: small enough to compute by hand.
FfnCase HandCase(Activation activation, FfnForm form) {
  return {.problem = {.hidden = DimK(2),
                      .intermediate = DimN(1),
                      .activation = activation,
                      .form = form},
          .tokens = 1,
          .gate = form == FfnForm::kGated ? Bits({1.0f, 2.0f}) : Bits({}),
          .up = Bits({3.0f, -1.0f}),
          .down = Bits({2.0f, -4.0f}),
          .x = Bits({1.0f, 0.5f}),
          .description = "HandCase"};
}

TEST(FfnOracleTest, MatchesAHandComputation) {
  // gate = 1 + 2 * 0.5 = 2, up = 3 - 0.5 = 2.5
  EXPECT_EQ(ComputeReference(HandCase(Activation::kRelu, FfnForm::kGated)).y,
            (std::vector<double>{2 * 5.0, -4 * 5.0}));
  const double silu = 2.0 / (1.0 + std::exp(-2.0)) * 2.5;
  const FfnReference unrounded =
      ComputeReference(HandCase(Activation::kSilu, FfnForm::kGated), IntermediateRounding::kNone);
  EXPECT_DOUBLE_EQ(unrounded.y[0], 2 * silu);
  const FfnReference rounded = ComputeReference(HandCase(Activation::kSilu, FfnForm::kGated));
  EXPECT_DOUBLE_EQ(rounded.y[0], 2 * RoundDouble(DType::kBf16, silu));
  const double gelu = 2.5 * 0.5 * (1.0 + std::erf(2.5 / std::sqrt(2.0)));
  EXPECT_NEAR(
      ComputeReference(HandCase(Activation::kGeluErf, FfnForm::kPlain), IntermediateRounding::kNone)
          .y[1],
      -4 * gelu, 1e-12);
}

TEST(FfnOracleTest, AddsTheResidualAfterRounding) {
  FfnCase input = HandCase(Activation::kRelu, FfnForm::kGated);
  input.down = Bits({2.015625f, 0.0f});  // f = 10.078125, bf16 rounds it to 10.0625
  input.problem.residual_mode = ResidualMode::kAddAfter;
  input.residual = Bits({0.25f, 1.0f});
  const FfnReference reference = ComputeReference(input);
  EXPECT_EQ(reference.y, (std::vector<double>{10.3125, 1.0}));
  EXPECT_EQ(reference.bits, Bits({10.3125f, 1.0f}));
}

TEST(FfnOracleTest, SmallIntegerCasesAreExactAndNotTrivial) {
  for (const auto& [hidden, intermediate] :
       {std::pair(8, 8), std::pair(96, 200), std::pair(1024, 3072)}) {
    const FfnCase input = MakeSmallIntegerCase({.hidden = DimK(hidden),
                                                .intermediate = DimN(intermediate),
                                                .activation = Activation::kRelu},
                                               3, 1);
    const FfnReference reference = ComputeReference(input);
    EXPECT_TRUE(reference.is_exact) << input.description;
    int64_t non_zero = 0;
    for (double y : reference.y) non_zero += y != 0;
    EXPECT_GT(non_zero * 2, static_cast<int64_t>(reference.y.size())) << input.description;
    EXPECT_TRUE(CompareExactly(input, reference, reference.bits).ok());
  }
}

TEST(FfnOracleTest, TheBoundCatchesASmallError) {
  // One weight of 1024 x 512 left out must show on nearly every case: the bound is not generous.
  const FfnProblem problem{.hidden = DimK(256), .intermediate = DimN(512)};
  int num_caught = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    FfnCase input = MakeRandomCase(problem, 1, seed);
    const FfnReference reference = ComputeReference(input);
    EXPECT_TRUE(CompareWithinBound(input, reference, reference.bits).ok());
    for (int row = 0; row < 256; ++row)
      input.down[static_cast<size_t>(row * 512)] = 0;  // h[0] is lost
    const FfnReference broken = ComputeReference(input);
    num_caught += !CompareWithinBound(input, reference, broken.bits).ok();
  }
  EXPECT_GE(num_caught, 7);
}

TEST(FfnOracleTest, NanAndForeignSizesAreWrong) {
  const FfnCase input = MakeRandomCase({.hidden = DimK(8), .intermediate = DimN(8)}, 1, 3);
  const FfnReference reference = ComputeReference(input);
  std::vector<uint16_t> y = reference.bits;
  y[5] = kBf16QuietNan;
  EXPECT_FALSE(CompareWithinBound(input, reference, y).ok());
  y.pop_back();
  EXPECT_FALSE(CompareWithinBound(input, reference, y).ok());
}

TEST(ErrorBoundTest, RoundsDoublesOnce) {
  // 1 + 2^-8 is a tie between bf16 neighbours; what lies just beside it must not be rounded to the
  // tie in fp32 first.
  EXPECT_EQ(RoundDouble(DType::kBf16, 1.0 + 0x1.0p-8), 1.0);
  EXPECT_EQ(RoundDouble(DType::kBf16, 1.0 + 0x1.0p-8 + 0x1.0p-40), 1.0 + 0x1.0p-7);
  EXPECT_EQ(RoundDouble(DType::kBf16, 1.0 + 0x1.8p-7 - 0x1.0p-40), 1.0 + 0x1.0p-7);
  EXPECT_EQ(RoundDouble(DType::kBf16, -1.0 - 0x1.0p-8 - 0x1.0p-40), -1.0 - 0x1.0p-7);
}

TEST(ErrorBoundTest, ARoundingThatCannotFlipCostsNothing) {
  EXPECT_EQ(RoundedTo(DType::kBf16, {1.001, 1e-6}).error, 0.0);
  EXPECT_EQ(RoundedTo(DType::kBf16, {1.0 + 0x1.0p-8, 1e-6}).error, 0x1.0p-7);
}

}  // namespace
}  // namespace fusebox::reference
