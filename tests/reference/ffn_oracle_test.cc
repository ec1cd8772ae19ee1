#include "tests/reference/ffn_oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "src/shape/element.h"
#include "tests/reference/error_bound.h"
#include "tests/reference/norm_oracle.h"
#include "tests/reference/variant_problems.h"

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
                      .form = form,
                      .rounding = Rounding::kFused},
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

// Each activation at v = 0.75 with weights of 1: h is it.
TEST(FfnOracleTest, ActivationsAreTheirFormulas) {
  constexpr double v = 0.75;
  const struct {
    Activation activation;
    double value;
  } kCases[] = {
      {Activation::kSilu, v / (1.0 + std::exp(-v))},
      {Activation::kGeluErf, 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)))},
      {Activation::kRelu, v},
      {Activation::kGeluTanh,
       0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v)))},
      {Activation::kReluSquared, v * v},
  };
  for (const auto& c : kCases) {
    FfnCase input = HandCase(c.activation, FfnForm::kPlain);
    input.up = Bits({0.5f, 0.5f});
    input.down = Bits({1.0f, -1.0f});
    const FfnReference reference = ComputeReference(input, IntermediateRounding::kNone);
    EXPECT_NEAR(reference.y[0], c.value, 1e-15) << ToString(c.activation);
    EXPECT_EQ(reference.y[1], -reference.y[0]);
  }
}

FfnCase GeluNewCase(DType dtype, float v) {
  FfnCase input = HandCase(Activation::kGeluNew, FfnForm::kPlain);
  input.problem.dtype = dtype;
  for (auto* row : {&input.up, &input.down, &input.x})
    *row = {FloatToElement(dtype, 1.0f), FloatToElement(dtype, 0.0f)};
  input.up[0] = FloatToElement(dtype, v);
  return input;
}

// v = 2.25 in bf16: v v = 0x1.44p2, v^3 = 0x1.6cp3, times 0.044715 0x1.04p-1, plus v 0x1.6p1, times
// sqrt(2/pi) 0x1.18p1, of which tanh is 0x1.f4p-1. For -v 1 + tanh is 0x1.8p-6, times -1.125.
TEST(FfnOracleTest, GeluNewRoundsEachOperation) {
  const struct {
    DType dtype;
    float v;
    double value;        // before the rounding of the last product
    double in_one_step;  // gelu_tanh
  } kCases[] = {
      {DType::kBf16, 2.25f, 0x1.1cap1, 2.2227986701},
      {DType::kBf16, -2.25f, -0x1.bp-6, -0.0272013299},
      {DType::kBf16, 1.1015625f, 0x1.e918p-1, 0.9523057245},
      {DType::kBf16, -3.5f, 0.0, -0.0006161977},
      {DType::kFp16, -2.25f, -0x1.c2p-6, -0.0272013299},
      {DType::kFp16, 1.1015625f, 0x1.e771p-1, 0.9523057245},
      {DType::kFp16, -3.5f, -0x1.cp-11, -0.0006161977},
  };
  for (const auto& c : kCases) {
    FfnCase input = GeluNewCase(c.dtype, c.v);
    const FfnReference reference = ComputeReference(input, IntermediateRounding::kNone);
    EXPECT_EQ(reference.y[0], c.value) << ToString(c.dtype) << " " << c.v;
    input.problem.activation = Activation::kGeluTanh;
    EXPECT_NEAR(ComputeReference(input, IntermediateRounding::kNone).y[0], c.in_one_step, 1e-10);
  }
}

// The cube of 48 is more than fp16 holds, and infinite in PyTorch too.
TEST(FfnOracleTest, GeluNewOfLargeValuesHasABound) {
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (const float v : {8.0f, 39.0f, 48.0f, 300.0f}) {
      const FfnReference positive = ComputeReference(GeluNewCase(dtype, v));
      EXPECT_EQ(positive.y[0], static_cast<double>(v));
      EXPECT_LT(positive.tolerance[0], 0.01 * static_cast<double>(v));
      const FfnReference negative = ComputeReference(GeluNewCase(dtype, -v));
      EXPECT_EQ(negative.y[0], 0.0);
      EXPECT_LT(negative.tolerance[0], 1e-6);
    }
  }
}

TEST(FfnOracleTest, AddsBiasesBeforeTheActivationAndToTheOutput) {
  FfnCase input = HandCase(Activation::kRelu, FfnForm::kGated);
  input.problem.up_bias = input.problem.down_bias = true;
  input.gate_bias = Bits({-1.0f});  // gate 2 - 1 = 1
  input.up_bias = Bits({0.5f});     // up 2.5 + 0.5 = 3
  input.down_bias = Bits({0.25f, 8.0f});
  EXPECT_EQ(ComputeReference(input).y, (std::vector<double>{2 * 3 + 0.25, -4 * 3 + 8.0}));
}

// gate = 1.00390625 = 1 + 2^-8 is a tie and rounds to 1, up = 1 + 3 * 2^-8 to 1 + 2^-6; relu's
// product 1.015625 fits bf16.
TEST(FfnOracleTest, EngineRoundingRoundsEachProjection) {
  FfnCase input = HandCase(Activation::kRelu, FfnForm::kGated);
  input.x = Bits({1.0f, 0x1.0p-8f});
  input.gate = Bits({1.0f, 1.0f});
  input.up = Bits({1.0f, 3.0f});
  input.down = Bits({1.0f, 0.0f});
  EXPECT_EQ(ComputeReference(input, IntermediateRounding::kNone).y[0],
            (1 + 0x1.0p-8) * (1 + 0x1.8p-7));
  EXPECT_EQ(ComputeReference(input).y[0], 1 + 0x1.0p-6);  // 1.0157.. once rounded
  input.problem.rounding = Rounding::kEngine;
  EXPECT_EQ(ComputeReference(input).y[0], 1.0 * (1 + 0x1.0p-6));
  input.gate = Bits({1.0f, 3.0f});  // rounded before: 1.0315, after: 1.0236 rounds to 1.0234
  input.problem.rounding = Rounding::kFused;
  EXPECT_EQ(ComputeReference(input).y[0], 1 + 0x1.8p-6);
  input.problem.rounding = Rounding::kEngine;
  EXPECT_EQ(ComputeReference(input).y[0], 1 + 0x1.0p-5);
}

// Mean 2, variance 1 (population): RMS of {1, 3} is sqrt(5).
TEST(NormOracleTest, MatchesAHandComputation) {
  const std::vector<Estimate> row = {{.value = 1.0}, {.value = 3.0}};
  NormWeights weights = {.weight = {1.5, -0.5}, .bias = {}};
  const auto bf16 = [](double value) { return RoundDouble(DType::kBf16, value); };
  const double scale = 1.0 / std::sqrt(5.0);
  EXPECT_EQ(Normalize(weights, row)[0].value, bf16(bf16(scale) * 1.5));
  EXPECT_EQ(Normalize(weights, row)[1].value, bf16(bf16(3.0 * scale) * -0.5));
  weights.norm = Norm::kRmsPlusOne;
  EXPECT_EQ(Normalize(weights, row)[0].value, bf16(scale * 2.5));
  EXPECT_EQ(Normalize(weights, row)[1].value, bf16(3.0 * scale * 0.5));
  weights.eps = 4.0;
  EXPECT_EQ(Normalize(weights, row)[0].value, bf16(1.0 / 3.0 * 2.5));
  weights = {.norm = Norm::kLayer, .weight = {1.5, -0.5}, .bias = {0.25, 8.0}};
  EXPECT_EQ(Normalize(weights, row)[0].value, -1.5 + 0.25);
  EXPECT_EQ(Normalize(weights, row)[1].value, -0.5 + 8.0);
  weights.bias.clear();
  EXPECT_EQ(Normalize(weights, row)[1].value, -0.5);
}

// hidden 2, so that the norm of a row is known: of {3, -3} {1, -1} but for eps, which is 0 here.
TEST(FfnOracleTest, ResidualModesAddWhereTheySay) {
  FfnCase input = HandCase(Activation::kRelu, FfnForm::kPlain);
  input.problem.norm = Norm::kRms;
  input.eps = 0.0f;
  input.norm_weight = Bits({1.0f, 1.0f});
  input.x = Bits({1.0f, -2.0f});
  input.up = Bits({3.0f, -1.0f});  // h = 4 for {1, -1}
  input.residual = Bits({2.0f, -1.0f});
  input.problem.residual_mode = ResidualMode::kAddBeforeNorm;  // {3, -3}
  FfnReference reference = ComputeReference(input);
  EXPECT_EQ(reference.y, (std::vector<double>{8.0, -16.0}));
  EXPECT_EQ(reference.residual_out, Bits({3.0f, -3.0f}));
  input.x = Bits({3.0f, -3.0f});
  input.problem.residual_mode = ResidualMode::kAddAfter;
  reference = ComputeReference(input);
  EXPECT_EQ(reference.y, (std::vector<double>{2.0 + 8.0, -1.0 - 16.0}));
  EXPECT_TRUE(reference.residual_out.empty());
  input.residual.clear();
  input.down = Bits({2.0f, -2.0f});  // f = {8, -8}
  input.second_norm_weight = Bits({0.5f, 4.0f});
  input.problem.residual_mode = ResidualMode::kSandwich;
  EXPECT_EQ(ComputeReference(input).y, (std::vector<double>{3.0 + 0.5, -3.0 - 4.0}));
}

TEST(FfnOracleTest, SmallIntegerCasesAreExactAndNotTrivial) {
  for (const auto& [hidden, intermediate] :
       {std::pair(8, 8), std::pair(96, 200), std::pair(1024, 3072)}) {
    for (const Activation activation : {Activation::kRelu, Activation::kReluSquared}) {
      for (const DType dtype : {DType::kBf16, DType::kFp16}) {
        const FfnCase input = MakeSmallIntegerCase({.hidden = DimK(hidden),
                                                    .intermediate = DimN(intermediate),
                                                    .dtype = dtype,
                                                    .activation = activation,
                                                    .residual_mode = ResidualMode::kAddAfter,
                                                    .rounding = Rounding::kEngine,
                                                    .up_bias = true,
                                                    .down_bias = true},
                                                   3, 1);
        const FfnReference reference = ComputeReference(input);
        EXPECT_TRUE(reference.is_exact) << input.description;
        int64_t non_zero = 0;
        for (double y : reference.y) non_zero += y != 0;
        EXPECT_GT(non_zero * 2, static_cast<int64_t>(reference.y.size())) << input.description;
        EXPECT_TRUE(CompareExactly(input, reference, reference.bits).ok());
      }
    }
  }
}

TEST(FfnOracleTest, TheBoundCatchesASmallError) {
  // One h of 512 left out must show on nearly every case: the bound is not generous. It is wider
  // with the rounding points of kEngine, any of which may flip.
  const FfnProblem problem{
      .hidden = DimK(256), .intermediate = DimN(512), .rounding = Rounding::kFused};
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

// What a kernel may forget, each on its own: every one is outside the bound of every variant that
// has it.
TEST(FfnOracleTest, TheBoundCatchesWhateverIsForgotten) {
  const struct {
    const char* what;
    bool (*forget)(FfnCase&);  // false: the case does not have it
  } kForgotten[] = {
      {"up bias",
       [](FfnCase& c) {
         return std::exchange(c.problem.up_bias, false) && (c.up_bias = {}, c.gate_bias = {}, true);
       }},
      {"down bias",
       [](FfnCase& c) {
         return std::exchange(c.problem.down_bias, false) && (c.down_bias = {}, true);
       }},
      {"norm",
       [](FfnCase& c) {
         for (uint16_t& w : c.norm_weight) w = FloatToElement(c.problem.dtype, 0.0f);
         return !c.norm_weight.empty();
       }},
      {"1 +",
       [](FfnCase& c) {
         if (c.problem.norm != Norm::kRmsPlusOne) return false;
         c.problem.norm = Norm::kRms;
         return true;
       }},
      {"norm bias", [](FfnCase& c) { return !std::exchange(c.norm_bias, {}).empty(); }},
      {"residual",
       [](FfnCase& c) {
         for (uint16_t& r : c.residual) r = 0;
         return !c.residual.empty();
       }},
      {"second norm's weight",
       [](FfnCase& c) {
         for (uint16_t& w : c.second_norm_weight) w = FloatToElement(c.problem.dtype, 1.0f);
         return !c.second_norm_weight.empty();
       }},
  };
  for (const FfnProblem& problem : VariantProblems(256, 512)) {
    const FfnCase input = MakeRandomCase(problem, 2, 5);
    const FfnReference reference = ComputeReference(input);
    EXPECT_TRUE(CompareWithinBound(input, reference, reference.bits).ok());
    EXPECT_TRUE(CompareResidualOut(input, reference, reference.residual_out).ok());
    for (const auto& [what, forget] : kForgotten) {
      FfnCase broken = input;
      if (!forget(broken)) continue;
      const std::vector<uint16_t> y = ComputeReference(broken).bits;
      EXPECT_FALSE(CompareWithinBound(input, reference, y).ok()) << what << ", " << problem.Name();
    }
  }
}

// Rounding points are told apart where sums are short, so that few roundings may flip. In a plain
// block relu commutes with rounding.
TEST(FfnOracleTest, TheBoundTellsRoundingsApartOnSmallProblems) {
  for (const FfnProblem& problem : VariantProblems(32, 16)) {
    const FfnCase input = MakeRandomCase(problem, 32, 5);
    FfnCase other = input;
    other.problem.rounding =
        problem.rounding == Rounding::kEngine ? Rounding::kFused : Rounding::kEngine;
    const FfnReference reference = ComputeReference(input);
    const bool ok = CompareWithinBound(input, reference, ComputeReference(other).bits).ok();
    const bool is_plain_relu =
        problem.form == FfnForm::kPlain && problem.activation == Activation::kRelu;
    EXPECT_EQ(ok, is_plain_relu) << problem.Name();
  }
}

// Every rounding that may flip is counted, all with the same sign: the bound is far above a
// kernel's error, and still below a tenth of y in fp16 and y itself in bf16.
TEST(FfnOracleTest, TheBoundIsBelowAHundredUnitsInTheLastPlace) {
  for (const FfnProblem& problem : VariantProblems(256, 512)) {
    const FfnReference reference = ComputeReference(MakeRandomCase(problem, 2, 5));
    const double unit = problem.dtype == DType::kBf16 ? 0x1.0p-7 : 0x1.0p-10;
    double worst = 0;
    for (size_t i = 0; i < reference.y.size(); ++i)
      worst = std::max(worst, reference.tolerance[i] / std::max(std::abs(reference.y[i]), 1.0));
    EXPECT_LT(worst, 100 * unit) << problem.Name();
  }
}

TEST(FfnOracleTest, ResidualOutIsComparedBitForBit) {
  const FfnCase input = MakeRandomCase({.hidden = DimK(8),
                                        .intermediate = DimN(8),
                                        .residual_mode = ResidualMode::kAddBeforeNorm,
                                        .norm = Norm::kRms},
                                       1, 3);
  const FfnReference reference = ComputeReference(input);
  std::vector<uint16_t> residual_out = reference.residual_out;
  ASSERT_EQ(residual_out.size(), 8u);
  EXPECT_TRUE(CompareResidualOut(input, reference, residual_out).ok());
  residual_out[3] ^= 1;
  EXPECT_NE(
      CompareResidualOut(input, reference, residual_out).failure.find("residual_out[token 0, 3]"),
      std::string::npos);
  EXPECT_FALSE(CompareResidualOut(input, reference, {}).ok());
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

TEST(ErrorBoundTest, RoundsDoublesToFp16Once) {
  EXPECT_EQ(RoundDouble(DType::kFp16, 1.0 + 0x1.0p-11), 1.0);
  EXPECT_EQ(RoundDouble(DType::kFp16, 1.0 + 0x1.0p-11 + 0x1.0p-40), 1.0 + 0x1.0p-10);
  EXPECT_EQ(RoundDouble(DType::kFp16, 0x1.0p-25 + 0x1.0p-60), 0x1.0p-24);
  EXPECT_TRUE(std::isinf(RoundDouble(DType::kFp16, 65520.0)));
  EXPECT_EQ(RoundDouble(DType::kFp16, 65520.0 - 0x1.0p-30), 65504.0);
}

TEST(ErrorBoundTest, ARoundingThatCannotFlipCostsNothing) {
  EXPECT_EQ(RoundedTo(DType::kBf16, {1.001, 1e-6}).error, 0.0);
  EXPECT_EQ(RoundedTo(DType::kBf16, {1.0 + 0x1.0p-8, 1e-6}).error, 0x1.0p-7);
}

}  // namespace
}  // namespace fusebox::reference
