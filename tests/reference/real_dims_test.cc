// The bound at the dims of real models, where no kernel runs without a GPU: an emulated kernel lies
// within it, and one with a mistake does not. The hardest case for a bound: bf16, every rounding
// point, and a second norm, which divides by a row that is itself known only to a bound.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "src/shape/element.h"
#include "tests/reference/ffn_emulation.h"
#include "tests/reference/ffn_oracle.h"

namespace fusebox::reference {
namespace {

constexpr int64_t kTokens = 128;  // of the batch whose clearest token is judged
constexpr uint64_t kSeed = 7;

// 2048x8192 is Llama-3.2-1B's, 2304x9216 Gemma-2-2b's, with that norm.
struct RealDims {
  int64_t hidden;
  int64_t intermediate;
  Norm norm;
};
constexpr RealDims kRealDims[] = {{2048, 8192, Norm::kRms}, {2304, 9216, Norm::kRmsPlusOne}};

FfnCase SandwichCase(const RealDims& dims, int64_t tokens) {
  FfnCase made = MakeRandomCase({.hidden = DimK(dims.hidden),
                                 .intermediate = DimN(dims.intermediate),
                                 .residual_mode = ResidualMode::kSandwich,
                                 .norm = dims.norm,
                                 .rounding = Rounding::kEngine},
                                tokens, kSeed);
  made.eps = 0.25f;  // a fourth of x's mean square: one that is wrong must show
  return made;
}

FfnCase OneToken(const FfnCase& batch, int64_t token) {
  FfnCase one = batch;
  const int64_t hidden = batch.problem.hidden.value();
  one.tokens = 1;
  one.x.assign(batch.x.begin() + token * hidden, batch.x.begin() + (token + 1) * hidden);
  return one;
}

double RatioOf(const FfnCase& input, const FfnReference& reference, const Emulation& emulation) {
  return CompareWithinBound(input, reference, EmulateKernel(input, emulation)).worst_ratio;
}

// |gate * up| of one intermediate row but for the norm's scale, which hardly differs by token.
double MagnitudeOf(const FfnCase& batch, int64_t token, int64_t row) {
  const DType dtype = batch.problem.dtype;
  const int64_t hidden = batch.problem.hidden.value();
  double gate = 0;
  double up = 0;
  for (int64_t k = 0; k < hidden; ++k) {
    const float center = batch.problem.norm == Norm::kRmsPlusOne ? 1.0f : 0.0f;
    const float w = center + ElementToFloat(dtype, batch.norm_weight[static_cast<size_t>(k)]);
    const auto x = static_cast<double>(
        w * ElementToFloat(dtype, batch.x[static_cast<size_t>(token * hidden + k)]));
    const auto at = static_cast<size_t>(row * hidden + k);
    gate += x * static_cast<double>(ElementToFloat(dtype, batch.gate[at]));
    up += x * static_cast<double>(ElementToFloat(dtype, batch.up[at]));
  }
  return std::abs(gate / (1.0 + std::exp(-gate)) * up);
}

int64_t ClearestToken(const FfnCase& batch, int64_t row) {
  int64_t clearest = 0;
  double largest = -1;
  for (int64_t token = 0; token < batch.tokens; ++token) {
    const double magnitude = MagnitudeOf(batch, token, row);
    if (magnitude <= largest) continue;
    largest = magnitude;
    clearest = token;
  }
  return clearest;
}

TEST(RealDimsTest, AKernelsRoundingIsFarWithinTheBound) {
  for (const RealDims& dims : kRealDims) {
    const FfnCase input = SandwichCase(dims, 2);
    const FfnReference reference = ComputeReference(input);
    for (const double tolerance : reference.tolerance) ASSERT_LT(tolerance, 0.5);  // y is order 1
    for (const int64_t part : {512, 640}) {
      const double ratio = RatioOf(input, reference, {.part = part});
      EXPECT_LT(ratio, 0.5) << input.problem.Name() << ", parts of " << part;
      std::printf("note %s in parts of %d: worst error/bound %.3f\n", input.problem.Name().c_str(),
                  static_cast<int>(part), ratio);
    }
  }
}

TEST(RealDimsTest, AMistakeInANormOrALostPartIsOutsideTheBound) {
  for (const RealDims& dims : kRealDims) {
    const FfnCase input = SandwichCase(dims, 4);
    const FfnReference reference = ComputeReference(input);
    const Mistake mistakes[] = {Mistake::kHalvedEps, Mistake::kNoSecondWeight,
                                Mistake::kDroppedPart, Mistake::kNoPlusOne};
    for (const Mistake mistake : mistakes) {
      if (mistake == Mistake::kNoPlusOne && dims.norm != Norm::kRmsPlusOne) continue;
      EXPECT_GT(RatioOf(input, reference, {.mistake = mistake}), 1.0)
          << input.problem.Name() << ", mistake " << static_cast<int>(mistake);
    }
  }
}

// One of 8192 or 9216 elements of h is missing, from the first CTA's slice, a middle one, or the
// tail: it shows at the token where it weighs most.
TEST(RealDimsTest, OneElementOfTheIntermediateIsMissed) {
  for (const RealDims& dims : kRealDims) {
    const FfnCase batch = SandwichCase(dims, kTokens);
    for (const int64_t row : {int64_t{0}, dims.intermediate / 2 + 1, dims.intermediate - 1}) {
      const FfnCase input = OneToken(batch, ClearestToken(batch, row));
      const FfnReference reference = ComputeReference(input);
      EXPECT_LT(RatioOf(input, reference, {}), 0.5);
      EXPECT_GT(
          RatioOf(input, reference, {.mistake = Mistake::kDroppedIntermediate, .dropped = row}),
          1.0)
          << input.problem.Name() << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace fusebox::reference
