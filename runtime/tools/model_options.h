// ModelOptions are the options that name models and how an engine will run them, shared by warm,
// plan, verify and bench. Invariant: what ReadModelRequests returns is in the order of the files
// given, each file once. Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_MODEL_OPTIONS_H_
#define FUSEBOX_RUNTIME_TOOLS_MODEL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/model/model_ffn.h"
#include "src/model/model_ops.h"

namespace CLI {
class App;
}

namespace fusebox {

struct ModelOptions {
  std::vector<std::string> model_files;
  std::vector<int64_t> tokens = {1, 8, 16, 32};
  std::vector<int64_t> tensor_parallel = {1};
  std::string engine = "vllm";
  std::string residual;      // "none", "add_after"; empty: what the engine asks for
  bool ignore_bias = false;  // --ignore-bias
};

// --model, --tokens, --tp, --engine, --ignore-bias. `options` must outlive the parse.
void AddModelOptions(CLI::App& command, ModelOptions& options);

// One model file, and the ops its engine asks for.
struct ModelRequest {
  std::string model;      // the file's name without ".json"
  absl::Status declined;  // not OK: the whole model, by rule; then `ffn` and `ops` are empty
  ModelFfn ffn;
  std::vector<ModelOp> ops;
  std::string
      note;  // a sentence the user should read, or empty: dtype of the checkpoint, biases left out
};

// NotFound or InvalidArgument, with the file's name, for a file that cannot be read or holds no
// config.
absl::StatusOr<std::vector<ModelRequest>> ReadModelRequests(const ModelOptions& options);

// One line about a model: "Qwen--Qwen3-8B: qwen3, 36 layers, hidden 4096, intermediate 12288, gated
// silu".
std::string DescribeModel(const ModelRequest& request);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_MODEL_OPTIONS_H_
