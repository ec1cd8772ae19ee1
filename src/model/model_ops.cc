#include "src/model/model_ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
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
  if (intermediate % degree == 0) {
    return ProblemOf(model, demand.engine, intermediate / degree).Name();
  }
  return absl::StrCat(ProblemOf(model, demand.engine, intermediate).Name(), "/", degree);
}

// Sorted, each once. InvalidArgument where one is not positive or none is given.
absl::StatusOr<std::vector<int64_t>> Positive(std::string_view what, std::vector<int64_t> values) {
  if (values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no ", what, " was given; name at least one"));
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.front() >= 1) return values;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", values.front(), " is not positive; give 1 or more"));
}

// One op a tile, and one declined op for the counts that no tile holds.
std::vector<ModelOp> Tiled(const std::string& name, int64_t degree,
                           const absl::StatusOr<FfnProblem>& problem,
                           const std::vector<int64_t>& tokens) {
  std::vector<ModelOp> ops;
  const auto append = [&](std::vector<int64_t> counts, absl::StatusOr<TiledOp> op) {
    ops.push_back({.name = name,
                   .tensor_parallel = degree,
                   .tokens = std::move(counts),
                   .op = std::move(op)});
  };
  if (!problem.ok()) {
    append(tokens, problem.status());
    return ops;
  }
  std::map<int, std::vector<int64_t>> by_tile;
  std::vector<int64_t> beyond;
  absl::Status refusal;
  for (const int64_t count : tokens) {
    const absl::StatusOr<int> tile = TokenTileFor(count);
    (tile.ok() ? by_tile[*tile] : beyond).push_back(count);
    refusal.Update(tile.status());
  }
  for (auto& [tile, counts] : by_tile) {
    append(std::move(counts), TiledOp{.problem = *problem, .token_tile = tile});
  }
  if (!beyond.empty()) append(std::move(beyond), refusal);
  return ops;
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
  FUSEBOX_RETURN_IF_ERROR(Positive("tensor-parallel degree", demand.tensor_parallel).status());
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens,
                           Positive("token count", demand.tokens));
  std::vector<ModelOp> ops;
  std::set<int64_t> done;
  for (const int64_t degree : demand.tensor_parallel) {
    if (!done.insert(degree).second) continue;
    for (ModelOp& op : Tiled(RankName(model, demand, degree), degree,
                             RankProblem(model, demand, degree), tokens)) {
      ops.push_back(std::move(op));
    }
  }
  return ops;
}

absl::StatusOr<std::vector<ModelOp>> OpsOfProblem(const FfnProblem& fields,
                                                  const std::vector<int64_t>& tokens) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, Positive("token count", tokens));
  const absl::StatusOr<FfnProblem> problem = FfnProblem::Create(fields);
  if (!problem.ok() && !IsDeclined(problem.status())) return problem.status();
  return Tiled(fields.Name(), /*degree=*/1, problem, counts);
}

std::string_view ToString(WeightForm form) {
  return form == WeightForm::kFused ? "fused" : "separate";
}

}  // namespace fusebox
