// The small problems that kernels are tested on: single tiles, tails in every dimension, several
// clusters and passes. All dims are multiples of 8, few are multiples of 64.
#ifndef FUSEBOX_TESTS_KERNELS_TEST_SHAPES_H_
#define FUSEBOX_TESTS_KERNELS_TEST_SHAPES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "src/shape/ffn_problem.h"

namespace fusebox {

// {hidden, intermediate}
inline std::vector<std::pair<int64_t, int64_t>> TestDims() {
  return {{8, 8},     {8, 4096},  {16, 96},    {96, 16},   {64, 64},     {96, 360},
          {360, 720}, {720, 360}, {520, 1000}, {640, 200}, {1000, 7392}, {2048, 168}};
}

// Gated and plain, with relu: exact on small integers.
inline std::vector<FfnProblem> ReluProblems() {
  std::vector<FfnProblem> problems;
  for (const auto& [hidden, intermediate] : TestDims()) {
    for (const FfnForm form : {FfnForm::kGated, FfnForm::kPlain}) {
      problems.push_back({.hidden = DimK(hidden),
                          .intermediate = DimN(intermediate),
                          .activation = Activation::kRelu,
                          .form = form});
    }
  }
  return problems;
}

// Four pairs of form and activation, each with and without a residual; every variant:
// tests/reference/variant_problems.h.
inline std::vector<FfnProblem> ActivationProblems(int64_t hidden, int64_t intermediate) {
  std::vector<FfnProblem> problems;
  for (const ResidualMode mode : {ResidualMode::kNone, ResidualMode::kAddAfter}) {
    for (const auto& [form, activation] : {std::pair(FfnForm::kGated, Activation::kSilu),
                                           std::pair(FfnForm::kGated, Activation::kRelu),
                                           std::pair(FfnForm::kPlain, Activation::kGeluErf),
                                           std::pair(FfnForm::kPlain, Activation::kRelu)}) {
      problems.push_back({.hidden = DimK(hidden),
                          .intermediate = DimN(intermediate),
                          .activation = activation,
                          .form = form,
                          .residual_mode = mode});
    }
  }
  return problems;
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_TEST_SHAPES_H_
