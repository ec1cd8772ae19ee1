// OpsForModel lists the ops, each with its token tile, that an engine will ask for when it serves a
// model. Invariant: the order is that of the tensor-parallel degrees given, then of the tiles;
// equal (op, tile) pairs of one degree are listed once. What is not served stays in the list, with
// the rule that declined it. Pure functions of their arguments.
#ifndef FUSEBOX_SRC_MODEL_MODEL_OPS_H_
#define FUSEBOX_SRC_MODEL_MODEL_OPS_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/model/model_ffn.h"

namespace fusebox {

enum class WeightForm : int32_t {
  kFused = 1,
  kSeparate = 2
};  // gate and up in one matrix, or two pointers

// How an engine asks. In this version both fields only describe: kernels serve either weight form,
// and every engine gets the bare op, whose residual and norm stay with the engine.
struct EnginePreset {
  std::string_view name;
  WeightForm weights = WeightForm::kFused;
  ResidualMode residual_mode = ResidualMode::kNone;
};
absl::StatusOr<EnginePreset> FindEnginePreset(std::string_view name);  // vllm, sglang, hf, trtllm

enum class BiasChoice : int32_t {
  kDecline = 0,
  kIgnore = 1
};  // kIgnore: plan f without the biases, to measure it

struct ModelDemand {
  EnginePreset engine;
  std::vector<int64_t> tensor_parallel = {1};
  std::vector<int64_t> tokens;
  BiasChoice biases = BiasChoice::kDecline;
};

struct TiledOp {
  FfnProblem problem;
  int token_tile = 0;
  friend auto operator<=>(const TiledOp&, const TiledOp&) = default;
};

struct ModelOp {
  std::string name;  // the problem's; for a declined one what it would have been
  int64_t tensor_parallel = 1;
  std::vector<int64_t> tokens;  // the counts this tile serves, ascending
  absl::StatusOr<TiledOp>
      op;  // or Declined: bias, tensor_parallel, token_limit, dim_granule, activation_form
};

// InvalidArgument for a degree or a token count that is not positive, and for empty lists.
absl::StatusOr<std::vector<ModelOp>> OpsForModel(const ModelFfn& model, const ModelDemand& demand);

// One op by its dims, at each tile that `tokens` need. InvalidArgument for dims and counts that are
// none.
absl::StatusOr<std::vector<ModelOp>> OpsOfProblem(const FfnProblem& fields,
                                                  const std::vector<int64_t>& tokens);

std::string_view ToString(WeightForm form);  // "fused", "separate"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_MODEL_OPS_H_
