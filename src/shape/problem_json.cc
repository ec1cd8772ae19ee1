#include "src/shape/problem_json.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fusebox {
namespace {

template <typename Enum, size_t kSize>
Enum ReadEnum(StrictJson& json, std::string_view path, const std::array<Enum, kSize>& values) {
  std::array<std::pair<std::string_view, Enum>, kSize> names;
  for (size_t i = 0; i < kSize; ++i) names[i] = {ToString(values[i]), values[i]};
  return json.Choice<Enum>(path, std::span<const std::pair<std::string_view, Enum>>(names));
}

}  // namespace

nlohmann::ordered_json ProblemToJson(const FfnProblem& problem) {
  return {{"op", "ffn"},
          {"hidden", problem.hidden.value()},
          {"intermediate", problem.intermediate.value()},
          {"dtype", ToString(problem.dtype)},
          {"activation", ToString(problem.activation)},
          {"form", ToString(problem.form)},
          {"residual_mode", ToString(problem.residual_mode)},
          {"norm", ToString(problem.norm)},
          {"rounding", ToString(problem.rounding)},
          {"up_bias", problem.up_bias ? 1 : 0},
          {"down_bias", problem.down_bias ? 1 : 0},
          {"layout", ToString(problem.layout)}};
}

FfnProblem ReadProblem(StrictJson& json, std::string_view path) {
  const auto at = [&](std::string_view field) { return absl::StrCat(path, ".", field); };
  constexpr std::pair<std::string_view, bool> kOps[] = {{"ffn", true}};
  json.Choice<bool>(at("op"), kOps);
  return {
      .hidden = DimK(json.Integer(at("hidden"), 1, kMaxDim)),
      .intermediate = DimN(json.Integer(at("intermediate"), 1, kMaxDim)),
      .dtype = ReadEnum(json, at("dtype"), std::array{DType::kBf16, DType::kFp16}),
      .activation = ReadEnum(
          json, at("activation"),
          std::array{Activation::kSilu, Activation::kGeluErf, Activation::kRelu,
                     Activation::kGeluTanh, Activation::kReluSquared, Activation::kGeluNew}),
      .form = ReadEnum(json, at("form"), std::array{FfnForm::kGated, FfnForm::kPlain}),
      .residual_mode = ReadEnum(json, at("residual_mode"),
                                std::array{ResidualMode::kNone, ResidualMode::kAddBeforeNorm,
                                           ResidualMode::kAddAfter, ResidualMode::kSandwich}),
      .norm = ReadEnum(json, at("norm"),
                       std::array{Norm::kNone, Norm::kRms, Norm::kRmsPlusOne, Norm::kLayer}),
      .rounding = ReadEnum(json, at("rounding"), std::array{Rounding::kFused, Rounding::kEngine}),
      .up_bias = json.Integer(at("up_bias"), 0, 1) != 0,
      .down_bias = json.Integer(at("down_bias"), 0, 1) != 0,
      .layout =
          ReadEnum(json, at("layout"), std::array{WeightLayout::kOutIn, WeightLayout::kInOut})};
}

}  // namespace fusebox
