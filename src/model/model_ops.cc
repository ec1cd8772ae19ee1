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

// vLLM, SGLang and TensorRT-LLM keep gate and up in one matrix and add the residual in front of the
// norm, in one operation with it. Around Gemma 2 and 3 the former two do so too, and leave the
// second norm to an operation of its own; TensorRT-LLM writes that layer as transformers does.
constexpr std::array<EnginePreset, 4> kEngines = {{
    {.name = "vllm"},
    {.name = "sglang"},
    {.name = "hf",
     .weights = WeightForm::kSeparate,
     .code = ModelCode::kTransformers,
     .carried = ResidualMode::kAddAfter,
     .sandwich = ResidualMode::kSandwich},
    {.name = "trtllm", .sandwich = ResidualMode::kSandwich},
}};

Norm NormInFront(const ModelFfn& model) {
  switch (model.order) {
    case BlockOrder::kPreNorm:
    case BlockOrder::kSandwich:
    case BlockOrder::kParallelOwnNorm:
      return model.norm;
    case BlockOrder::kNormedResidual:
    case BlockOrder::kParallelSharedNorm:
      break;
  }
  return Norm::kNone;
}

ResidualMode ResidualOf(const ModelFfn& model, const EnginePreset& engine) {
  switch (model.order) {
    case BlockOrder::kPreNorm:
      return model.residual == ResidualHabit::kCarried ? engine.carried : ResidualMode::kAddAfter;
    case BlockOrder::kSandwich:
      return engine.sandwich;
    case BlockOrder::kNormedResidual:
      return ResidualMode::kAddAfter;
    case BlockOrder::kParallelOwnNorm:
    case BlockOrder::kParallelSharedNorm:
      break;
  }
  return ResidualMode::kNone;
}

// The problem of one rank, or the rule that declines the whole degree.
absl::StatusOr<FfnProblem> RankProblem(const ModelFfn& model, const FfnBlock& block,
                                       const ModelDemand& demand, int64_t degree) {
  const int64_t intermediate = block.intermediate.value();
  if (intermediate % degree != 0) {
    return Declined("tensor_parallel",
                    absl::StrCat("intermediate ", intermediate, " does not divide into ", degree,
                                 " ranks; use a degree that divides it"));
  }
  return FfnProblem::Create(ProblemOfBlock(model, block, demand, degree));
}

std::string RankName(const ModelFfn& model, const FfnBlock& block, const ModelDemand& demand,
                     int64_t degree) {
  FfnProblem problem = ProblemOfBlock(model, block, demand, degree);
  if (block.intermediate.value() % degree == 0) return problem.Name();
  problem.intermediate = block.intermediate;
  return absl::StrCat(problem.Name(), "/", degree);
}

// A block, with the roles of all blocks that are the same op on a rank.
struct SharedBlock {
  const FfnBlock* block;
  std::vector<FfnRole> roles;
};

std::vector<SharedBlock> DistinctBlocks(const ModelFfn& model, const ModelDemand& demand,
                                        int64_t degree) {
  std::vector<SharedBlock> distinct;
  for (const FfnBlock& block : model.blocks) {
    const auto found =
        std::find_if(distinct.begin(), distinct.end(), [&](const SharedBlock& shared) {
          return shared.block->intermediate == block.intermediate &&
                 ProblemOfBlock(model, *shared.block, demand, degree) ==
                     ProblemOfBlock(model, block, demand, degree);
        });
    if (found == distinct.end()) {
      distinct.push_back({.block = &block, .roles = {block.role}});
    } else {
      found->roles.push_back(block.role);
    }
  }
  return distinct;
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
std::vector<ModelOp> Tiled(const std::string& name, const std::vector<FfnRole>& roles,
                           int64_t degree, const absl::StatusOr<FfnProblem>& problem,
                           const std::vector<int64_t>& tokens) {
  std::vector<ModelOp> ops;
  const auto append = [&](std::vector<int64_t> counts, absl::StatusOr<TiledOp> op) {
    ops.push_back({.name = name,
                   .roles = roles,
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

FfnProblem ProblemOfBlock(const ModelFfn& model, const FfnBlock& block, const ModelDemand& demand,
                          int64_t degree) {
  const EnginePreset& engine = demand.engine;
  const bool has_biases = model.biases == Biases::kPresent;
  FfnProblem problem = {.hidden = model.hidden,
                        .intermediate = DimN(block.intermediate.value() / degree),
                        .dtype = demand.dtype.value_or(model.dtype),
                        .activation = engine.code == ModelCode::kTransformers
                                          ? model.activation
                                          : model.engine_activation,
                        .form = model.form,
                        .up_bias = has_biases,
                        .down_bias = has_biases && degree == 1,
                        .layout = engine.code == ModelCode::kTransformers ? model.checkpoint_layout
                                                                          : WeightLayout::kOutIn};
  if (demand.variant == OpVariant::kEngine && block.role == FfnRole::kDense) {
    problem.norm = NormInFront(model);
    if (degree == 1) problem.residual_mode = ResidualOf(model, engine);
  }
  if (demand.residual.has_value()) problem.residual_mode = *demand.residual;
  return problem;
}

absl::StatusOr<std::vector<ModelOp>> OpsForModel(const ModelFfn& model, const ModelDemand& demand) {
  FUSEBOX_RETURN_IF_ERROR(Positive("tensor-parallel degree", demand.tensor_parallel).status());
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens,
                           Positive("token count", demand.tokens));
  std::vector<ModelOp> ops;
  std::set<int64_t> done;
  for (const int64_t degree : demand.tensor_parallel) {
    if (!done.insert(degree).second) continue;
    for (const SharedBlock& shared : DistinctBlocks(model, demand, degree)) {
      const absl::StatusOr<FfnProblem> problem = RankProblem(model, *shared.block, demand, degree);
      if (!problem.ok() && !IsDeclined(problem.status())) return problem.status();
      for (ModelOp& op : Tiled(RankName(model, *shared.block, demand, degree), shared.roles, degree,
                               problem, tokens)) {
        ops.push_back(std::move(op));
      }
    }
  }
  return ops;
}

absl::StatusOr<std::vector<ModelOp>> OpsOfProblem(const FfnProblem& fields,
                                                  const std::vector<int64_t>& tokens) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, Positive("token count", tokens));
  const absl::StatusOr<FfnProblem> problem = FfnProblem::Create(fields);
  if (!problem.ok() && !IsDeclined(problem.status())) return problem.status();
  return Tiled(fields.Name(), /*roles=*/{}, /*degree=*/1, problem, counts);
}

WeightForm WeightFormFor(const ModelFfn& model, const EnginePreset& engine) {
  return engine.code == ModelCode::kTransformers ? model.checkpoint_form : engine.weights;
}

std::string_view ToString(WeightForm form) {
  return form == WeightForm::kFused ? "fused" : "separate";
}

}  // namespace fusebox
