// ModelFfn is what a Hugging Face config.json says about a model's feed-forward blocks.
// Invariant: one from ParseModelConfig belongs to a served family and has dims within (0, kMaxDim];
// whether a kernel serves them is FfnProblem's to say. A value; no threads.
#ifndef FUSEBOX_SRC_MODEL_MODEL_FFN_H_
#define FUSEBOX_SRC_MODEL_MODEL_FFN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/strong_int.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

enum class Biases : int32_t { kNone = 0, kPresent = 1 };

struct ModelFfn {
  std::string family;      // "llama": the row of the family table that read it
  int64_t num_layers = 0;  // each with one such block
  DimK hidden;
  DimN intermediate;  // of the whole model, before tensor parallelism
  Activation activation = Activation::kSilu;
  FfnForm form = FfnForm::kGated;
  Biases biases = Biases::kNone;
  std::string checkpoint_dtype;  // as the config spells it ("float16"); empty where it says nothing
};

// InvalidArgument for a text that is no JSON object, and for a missing or absurd field, by name.
// Declined (architecture, activation, quantization) for a model that is well described but not
// served.
absl::StatusOr<ModelFfn> ParseModelConfig(std::string_view config_json);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_MODEL_FFN_H_
