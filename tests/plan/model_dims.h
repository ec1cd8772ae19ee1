// The FFNs of the models that the issue names, by tensor parallelism: what plans are checked on.
#ifndef FUSEBOX_TESTS_PLAN_MODEL_DIMS_H_
#define FUSEBOX_TESTS_PLAN_MODEL_DIMS_H_

#include <string>
#include <vector>

#include "src/shape/ffn_problem.h"

namespace fusebox {

struct ModelDims {
  std::string name;
  int64_t hidden;
  int64_t intermediate;
  FfnForm form = FfnForm::kGated;
  Activation activation = Activation::kSilu;
};

inline std::vector<ModelDims> AllModels() {
  return {
      {"Llama-2-7B", 4096, 11008},
      {"Llama-3.1-8B", 4096, 14336},
      {"Llama-3.2-1B", 2048, 8192},
      {"Mistral-7B", 4096, 14336},
      {"OPT-1.3B", 2048, 8192, FfnForm::kPlain, Activation::kRelu},
      {"Pythia-2.8B", 2560, 10240, FfnForm::kPlain, Activation::kGeluErf},
      {"Qwen2.5-0.5B", 896, 4864},
      {"Qwen2.5-1.5B", 1536, 8960},
      {"Qwen2.5-7B", 3584, 18944},
      {"Qwen3-0.6B", 1024, 3072},
      {"Qwen3-8B", 4096, 12288},
  };
}

inline FfnProblem ProblemOf(const ModelDims& model, int64_t tensor_parallel) {
  return {.hidden = DimK(model.hidden),
          .intermediate = DimN(model.intermediate / tensor_parallel),
          .activation = model.activation,
          .form = model.form};
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_PLAN_MODEL_DIMS_H_
