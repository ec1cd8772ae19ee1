#include "runtime/tools/verify_variants.h"

#include <array>

namespace fusebox {
namespace {

constexpr auto kNoBias = std::array{false, false};
constexpr auto kUpBias = std::array{true, false};
constexpr auto kDownBias = std::array{false, true};
constexpr auto kBothBiases = std::array{true, true};

struct Variant {
  DType dtype;
  FfnForm form;
  Activation activation;
  Norm norm;
  ResidualMode residual_mode;
  std::array<bool, 2> biases;  // of up, of down
  Rounding rounding;
  WeightLayout layout = WeightLayout::kOutIn;
};

constexpr Variant kVariants[] = {
    // Llama and Qwen, as vLLM and as Hugging Face run them.
    {DType::kBf16, FfnForm::kGated, Activation::kSilu, Norm::kRms, ResidualMode::kAddBeforeNorm,
     kNoBias, Rounding::kEngine},
    {DType::kFp16, FfnForm::kGated, Activation::kSilu, Norm::kRms, ResidualMode::kAddAfter, kNoBias,
     Rounding::kEngine},
    {DType::kFp16, FfnForm::kGated, Activation::kSilu, Norm::kRms, ResidualMode::kAddBeforeNorm,
     kUpBias, Rounding::kFused},
    // Gemma 1 and 2, OLMo 2.
    {DType::kBf16, FfnForm::kGated, Activation::kGeluTanh, Norm::kRmsPlusOne,
     ResidualMode::kAddAfter, kNoBias, Rounding::kEngine},
    {DType::kBf16, FfnForm::kGated, Activation::kGeluTanh, Norm::kRmsPlusOne,
     ResidualMode::kSandwich, kNoBias, Rounding::kEngine},
    {DType::kFp16, FfnForm::kGated, Activation::kGeluTanh, Norm::kRmsPlusOne,
     ResidualMode::kSandwich, kNoBias, Rounding::kFused},
    {DType::kBf16, FfnForm::kGated, Activation::kSilu, Norm::kRms, ResidualMode::kSandwich, kNoBias,
     Rounding::kEngine},
    // OPT, GPT-2, GPT-NeoX with its parallel residual, Nemotron, BERT's block alone.
    {DType::kFp16, FfnForm::kPlain, Activation::kRelu, Norm::kLayer, ResidualMode::kAddAfter,
     kBothBiases, Rounding::kEngine},
    {DType::kBf16, FfnForm::kPlain, Activation::kGeluTanh, Norm::kLayer, ResidualMode::kAddAfter,
     kBothBiases, Rounding::kFused},
    {DType::kFp16, FfnForm::kPlain, Activation::kGeluErf, Norm::kLayer, ResidualMode::kNone,
     kBothBiases, Rounding::kEngine},
    {DType::kBf16, FfnForm::kPlain, Activation::kReluSquared, Norm::kLayer,
     ResidualMode::kAddBeforeNorm, kNoBias, Rounding::kEngine},
    {DType::kBf16, FfnForm::kPlain, Activation::kGeluErf, Norm::kNone, ResidualMode::kNone,
     kBothBiases, Rounding::kFused},
    // What is left: gated relu squared and relu, either bias alone.
    {DType::kFp16, FfnForm::kGated, Activation::kReluSquared, Norm::kNone, ResidualMode::kNone,
     kDownBias, Rounding::kEngine},
    {DType::kBf16, FfnForm::kGated, Activation::kRelu, Norm::kNone, ResidualMode::kAddAfter,
     kUpBias, Rounding::kEngine},
    {DType::kFp16, FfnForm::kGated, Activation::kGeluErf, Norm::kRms, ResidualMode::kNone,
     kDownBias, Rounding::kEngine},
    // GPT-2 as transformers keeps it, with vLLM's activation and with its own; gated blocks kept
    // likewise, and that activation where nothing around it rounds.
    {DType::kBf16, FfnForm::kPlain, Activation::kGeluTanh, Norm::kLayer, ResidualMode::kAddAfter,
     kBothBiases, Rounding::kEngine, WeightLayout::kInOut},
    {DType::kBf16, FfnForm::kPlain, Activation::kGeluNew, Norm::kLayer, ResidualMode::kAddAfter,
     kBothBiases, Rounding::kEngine, WeightLayout::kInOut},
    {DType::kFp16, FfnForm::kGated, Activation::kSilu, Norm::kRms, ResidualMode::kAddBeforeNorm,
     kNoBias, Rounding::kEngine, WeightLayout::kInOut},
    {DType::kFp16, FfnForm::kGated, Activation::kGeluNew, Norm::kNone, ResidualMode::kNone, kNoBias,
     Rounding::kFused},
};

}  // namespace

std::vector<FfnProblem> VariantsOf(DimK hidden, DimN intermediate) {
  std::vector<FfnProblem> problems;
  for (const Variant& variant : kVariants) {
    problems.push_back({.hidden = hidden,
                        .intermediate = intermediate,
                        .dtype = variant.dtype,
                        .activation = variant.activation,
                        .form = variant.form,
                        .residual_mode = variant.residual_mode,
                        .norm = variant.norm,
                        .rounding = variant.rounding,
                        .up_bias = variant.biases[0],
                        .down_bias = variant.biases[1],
                        .layout = variant.layout});
  }
  return problems;
}

std::vector<OpToRun> WithVariants(const std::vector<OpToRun>& ops) {
  std::vector<OpToRun> expanded;
  for (const OpToRun& op : ops) {
    if (!op.problem.ok()) {
      expanded.push_back(op);
      continue;
    }
    for (const FfnProblem& problem : VariantsOf(op.problem->hidden, op.problem->intermediate)) {
      OpToRun variant = op;
      variant.name = problem.Name();
      variant.problem = problem;
      expanded.push_back(std::move(variant));
    }
  }
  return expanded;
}

}  // namespace fusebox
