// ModelFfn is what a Hugging Face config.json says about a model's feed-forward blocks.
// Invariant: one from ParseModelConfig belongs to a served family, has at least one block, and has
// dims within (0, kMaxDim]; whether a kernel serves them is FfnProblem's to say. A value; no
// threads.
#ifndef FUSEBOX_SRC_MODEL_MODEL_FFN_H_
#define FUSEBOX_SRC_MODEL_MODEL_FFN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/strong_int.h"
#include "src/model/family.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

enum class Biases : int32_t { kNone = 0, kPresent = 1 };
enum class FfnRole : int32_t { kDense = 1, kExpert = 2, kSharedExpert = 3 };

// The blocks of one role: all of one size.
struct FfnBlock {
  FfnRole role = FfnRole::kDense;
  DimN intermediate;       // of the whole model, before tensor parallelism
  int64_t num_layers = 0;  // that have it
  int64_t per_layer = 1;   // experts in each
};

struct ModelFfn {
  std::string family;      // "llama": the row of the family table that read it
  int64_t num_layers = 0;  // of the model
  DimK hidden;
  std::vector<FfnBlock> blocks;  // dense, expert, shared expert; those that the model has
  Activation activation = Activation::kSilu;
  Activation engine_activation = Activation::kSilu;  // as engines other than transformers take it
  FfnForm form = FfnForm::kGated;
  Biases biases = Biases::kNone;
  Norm norm = Norm::kRms;
  double norm_eps = 0;
  BlockOrder order = BlockOrder::kPreNorm;
  ResidualHabit residual = ResidualHabit::kCarried;
  WeightForm checkpoint_form = WeightForm::kSeparate;
  WeightLayout checkpoint_layout = WeightLayout::kOutIn;
  DType dtype = DType::kBf16;    // the checkpoint's; bf16 for float32 and where it says nothing
  std::string checkpoint_dtype;  // as the config spells it ("float16"); empty where it says nothing
};

// InvalidArgument for a text that is no JSON object, and for a missing or absurd field, by name.
// Declined (architecture, activation, quantization, dtype, and rules of single families) for a
// model that is well described but not served.
absl::StatusOr<ModelFfn> ParseModelConfig(std::string_view config_json);

std::string_view ToString(FfnRole role);  // "dense", "expert", "shared_expert"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_MODEL_FFN_H_
