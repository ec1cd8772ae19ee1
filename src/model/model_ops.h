// OpsForModel lists the ops, each with its token tile, that an engine will ask for when it serves a
// model. Invariant: the order is that of the tensor-parallel degrees given, then of the tiles;
// equal (op, tile) pairs of one degree are listed once. What is not served stays in the list, with
// the rule that declined it. Pure functions of their arguments.
#ifndef FUSEBOX_SRC_MODEL_MODEL_OPS_H_
#define FUSEBOX_SRC_MODEL_MODEL_OPS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/model/model_ffn.h"

namespace fusebox {

// Whose operations run around the kernel: transformers', on its checkpoints as they are, or the
// engine's own, on weights that it turned and fused when it loaded them.
enum class ModelCode : int32_t { kOwn = 1, kTransformers };

// How an engine asks. The weight form only describes: kernels serve either.
struct EnginePreset {
  std::string_view name;
  WeightForm weights = WeightForm::kFused;
  ModelCode code = ModelCode::kOwn;
  ResidualMode carried = ResidualMode::kAddBeforeNorm;   // for BlockOrder::kPreNorm, where the
                                                         // family's residual is carried beside x
  ResidualMode sandwich = ResidualMode::kAddBeforeNorm;  // for BlockOrder::kSandwich
};
absl::StatusOr<EnginePreset> FindEnginePreset(std::string_view name);  // vllm, sglang, hf, trtllm

// kEngine: norm and residual as the engine has them around the block. kBare: the block alone, with
// its biases.
enum class OpVariant : int32_t { kEngine = 1, kBare };

struct ModelDemand {
  EnginePreset engine;
  std::vector<int64_t> tensor_parallel = {1};
  std::vector<int64_t> tokens;
  OpVariant variant = OpVariant::kEngine;
  std::optional<DType> dtype;            // instead of the checkpoint's
  std::optional<ResidualMode> residual;  // instead of the variant's, for every op
};

struct TiledOp {
  FfnProblem problem;
  int token_tile = 0;
  friend auto operator<=>(const TiledOp&, const TiledOp&) = default;
};

struct ModelOp {
  std::string name;            // the problem's; for a declined one what it would have been
  std::vector<FfnRole> roles;  // of the model's blocks that are this op; none for an op without one
  int64_t tensor_parallel = 1;
  std::vector<int64_t> tokens;  // the counts this tile serves, ascending
  // Or Declined: tensor_parallel, token_limit, dim_granule.
  absl::StatusOr<TiledOp> op;
};

// The op of one block on one rank. With `degree` above 1 its result is a partial sum: the residual
// and the down bias, which must be added once, stay with the engine, after its all-reduce. An
// expert has neither norm nor residual: the router reads the norm's result too, and weighs what the
// experts give. A residual that takes attention's output as well (parallel blocks) is the engine's,
// and so is a norm whose result attention reads, or whose result is the residual.
FfnProblem ProblemOfBlock(const ModelFfn& model, const FfnBlock& block, const ModelDemand& demand,
                          int64_t degree);

// InvalidArgument for a degree or a token count that is not positive, for empty lists, and for a
// residual that needs a norm where the op has none.
absl::StatusOr<std::vector<ModelOp>> OpsForModel(const ModelFfn& model, const ModelDemand& demand);

// One op by its dims, at each tile that `tokens` need. InvalidArgument for dims and counts that are
// none.
absl::StatusOr<std::vector<ModelOp>> OpsOfProblem(const FfnProblem& fields,
                                                  const std::vector<int64_t>& tokens);

// The form in which the engine holds the model's gate and up.
WeightForm WeightFormFor(const ModelFfn& model, const EnginePreset& engine);

std::string_view ToString(WeightForm form);  // "fused", "separate"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_MODEL_OPS_H_
