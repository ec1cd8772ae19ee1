// The variants of the ffn op on given dims: what tests of every stage run through.
#ifndef FUSEBOX_TESTS_REFERENCE_VARIANT_PROBLEMS_H_
#define FUSEBOX_TESTS_REFERENCE_VARIANT_PROBLEMS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "src/shape/ffn_problem.h"

namespace fusebox {

// Every norm with every residual mode that Create accepts.
inline std::vector<std::pair<Norm, ResidualMode>> NormsAndResidualModes() {
  std::vector<std::pair<Norm, ResidualMode>> pairs;
  for (const Norm norm : {Norm::kNone, Norm::kRms, Norm::kRmsPlusOne, Norm::kLayer}) {
    for (const ResidualMode mode : {ResidualMode::kNone, ResidualMode::kAddBeforeNorm,
                                    ResidualMode::kAddAfter, ResidualMode::kSandwich}) {
      const FfnProblem problem = {
          .hidden = DimK(8), .intermediate = DimN(8), .residual_mode = mode, .norm = norm};
      if (FfnProblem::Create(problem).ok()) pairs.emplace_back(norm, mode);
    }
  }
  return pairs;
}

// Every norm x residual mode x dtype, then every activation x form x dtype with RMS; biases,
// rounding and layout take turns. No two are alike.
inline std::vector<FfnProblem> VariantProblems(int64_t hidden, int64_t intermediate) {
  constexpr Activation kActivations[] = {Activation::kSilu,        Activation::kGeluErf,
                                         Activation::kRelu,        Activation::kGeluTanh,
                                         Activation::kReluSquared, Activation::kGeluNew};
  constexpr std::pair<bool, bool> kBiases[] = {
      {false, false}, {true, true}, {true, false}, {false, true}};
  std::vector<FfnProblem> problems;
  const auto add = [&](FfnProblem problem) {
    const size_t turn = problems.size();
    problem.hidden = DimK(hidden);
    problem.intermediate = DimN(intermediate);
    std::tie(problem.up_bias, problem.down_bias) = kBiases[turn / 2 % std::size(kBiases)];
    problem.rounding = turn / 3 % 2 == 0 ? Rounding::kEngine : Rounding::kFused;
    problem.layout = turn % 5 == 4 ? WeightLayout::kInOut : WeightLayout::kOutIn;
    if (std::find(problems.begin(), problems.end(), problem) == problems.end())
      problems.push_back(problem);
  };
  for (const auto& [norm, mode] : NormsAndResidualModes()) {
    for (const DType dtype : {DType::kBf16, DType::kFp16}) {
      const size_t turn = problems.size();
      add({.dtype = dtype,
           .activation = kActivations[turn % std::size(kActivations)],
           .form = turn % 3 == 0 ? FfnForm::kPlain : FfnForm::kGated,
           .residual_mode = mode,
           .norm = norm});
    }
  }
  for (const Activation activation : kActivations) {
    for (const FfnForm form : {FfnForm::kGated, FfnForm::kPlain}) {
      for (const DType dtype : {DType::kBf16, DType::kFp16})
        add({.dtype = dtype, .activation = activation, .form = form, .norm = Norm::kRms});
    }
  }
  return problems;
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_REFERENCE_VARIANT_PROBLEMS_H_
