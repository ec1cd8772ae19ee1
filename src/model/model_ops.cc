#include "src/model/model_ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

// vLLM, SGLang and TensorRT-LLM keep gate and up in one matrix, Hugging Face keeps two.
constexpr std::array<EnginePreset, 4> kEngines = {{
    {"vllm", WeightForm::kFused, ResidualMode::kNone},
    {"sglang", WeightForm::kFused, ResidualMode::kNone},
    {"hf", WeightForm::kSeparate, ResidualMode::kNone},
    {"trtllm", WeightForm::kFused, ResidualMode::kNone},
}};

FfnProblem ProblemOf(const ModelFfn& model, const EnginePreset& engine, int64_t intermediate) {
  return {.hidden = model.hidden,
          .intermediate = DimN(intermediate),
          .dtype = DType::kBf16,
          .activation = model.activation,
          .form = model.form,
          .residual_mode = engine.residual_mode};
}

// The problem of one rank, or the rule that declines the whole degree.
absl::StatusOr<FfnProblem> RankProblem(const ModelFfn& model, const ModelDemand& demand,
                                       int64_t degree) {
  if (model.biases == Biases::kPresent && demand.biases == BiasChoice::kDecline) {
    return Declined(
        "bias",
        absl::StrCat("the ", model.family,
                     " block has biases and this version has none; run the model's own path, or "
                     "pass --ignore-bias to plan and time the block without them"));
  }
  const int64_t intermediate = model.intermediate.value();
  if (intermediate % degree != 0) {
    return Declined("tensor_parallel",
                    absl::StrCat("intermediate ", intermediate, " does not divide into ", degree,
                                 " ranks; use a degree that divides it"));
  }
  return FfnProblem::Create(ProblemOf(model, demand.engine, intermediate / degree));
}

std::string RankName(const ModelFfn& model, const ModelDemand& demand, int64_t degree) {
  const int64_t intermediate = model.intermediate.value();
  if (intermediate % degree == 0)
    return ProblemOf(model, demand.engine, intermediate / degree).Name();
  return absl::StrCat(ProblemOf(model, demand.engine, intermediate).Name(), "/", degree);
}

void AppendRank(const ModelFfn& model, const ModelDemand& demand,
                const std::vector<int64_t>& tokens, int64_t degree, std::vector<ModelOp>& ops) {
  const std::string name = RankName(model, demand, degree);
  const absl::StatusOr<FfnProblem> problem = RankProblem(model, demand, degree);
  if (!problem.ok()) {
    ops.push_back(
        {.name = name, .tensor_parallel = degree, .tokens = tokens, .op = problem.status()});
    return;
  }
  std::map<int, std::vector<int64_t>> by_tile;
  std::vector<int64_t> beyond;
  absl::Status refusal;
  for (const int64_t count : tokens) {
    const absl::StatusOr<int> tile = TokenTileFor(count);
    if (tile.ok()) {
      by_tile[*tile].push_back(count);
    } else {
      beyond.push_back(count);
      refusal.Update(tile.status());
    }
  }
  for (auto& [tile, counts] : by_tile) {
    ops.push_back({.name = name,
                   .tensor_parallel = degree,
                   .tokens = std::move(counts),
                   .op = TiledOp{.problem = *problem, .token_tile = tile}});
  }
  if (!beyond.empty()) {
    ops.push_back(
        {.name = name, .tensor_parallel = degree, .tokens = std::move(beyond), .op = refusal});
  }
}

absl::Status CheckPositive(std::string_view what, const std::vector<int64_t>& values) {
  if (values.empty())
    return absl::InvalidArgumentError(absl::StrCat("no ", what, " was given; name at least one"));
  for (const int64_t value : values) {
    if (value >= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", value, " is not positive; give 1 or more"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EnginePreset> FindEnginePreset(std::string_view name) {
  for (const EnginePreset& preset : kEngines) {
    if (preset.name == name) return preset;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("engine \"", absl::CHexEscape(name.substr(0, 40)), "\" is unknown; accepted: ",
                   absl::StrJoin(kEngines, ", ", [](std::string* out, const EnginePreset& preset) {
                     absl::StrAppend(out, preset.name);
                   })));
}

absl::StatusOr<std::vector<ModelOp>> OpsForModel(const ModelFfn& model, const ModelDemand& demand) {
  FUSEBOX_RETURN_IF_ERROR(CheckPositive("tensor-parallel degree", demand.tensor_parallel));
  FUSEBOX_RETURN_IF_ERROR(CheckPositive("token count", demand.tokens));
  std::vector<int64_t> tokens = demand.tokens;
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());

  std::vector<ModelOp> ops;
  std::vector<int64_t> done;
  for (const int64_t degree : demand.tensor_parallel) {
    if (std::find(done.begin(), done.end(), degree) != done.end()) continue;
    done.push_back(degree);
    AppendRank(model, demand, tokens, degree, ops);
  }
  return ops;
}

std::string_view ToString(WeightForm form) {
  return form == WeightForm::kFused ? "fused" : "separate";
}

}  // namespace fusebox
