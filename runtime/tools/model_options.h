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
  std::string dtype;     // "bf16", "fp16"; empty: the checkpoint's, or bf16
  std::string residual;  // as ToString(ResidualMode) has it; empty: the variant's
  OpVariant variant = OpVariant::kBare;
};

// --model, --tokens, --tp, --engine, --dtype. `options` must outlive the parse.
void AddModelOptions(CLI::App& command, ModelOptions& options);

// --bare, for a command that takes the engine's variant without it; sets the variant to that.
void AddBareOption(CLI::App& command, ModelOptions& options);

// InvalidArgument for another name than bf16 or fp16; empty is `fallback`.
absl::StatusOr<DType> DTypeByName(std::string_view name, DType fallback);

// InvalidArgument for a name that is none of the four modes.
absl::StatusOr<ResidualMode> ResidualByName(std::string_view name);

// One model file, and the ops its engine asks for.
struct ModelRequest {
  std::string model;      // the file's name without ".json"
  absl::Status declined;  // not OK: the whole model, by rule; then `ffn` and `ops` are empty
  ModelFfn ffn;
  WeightForm weights = WeightForm::kFused;  // gate and up, as the engine holds them
  DType dtype = DType::kBf16;               // of the ops
  std::vector<ModelOp> ops;
  std::string note;  // what the user should know of how it is planned; or empty
};

// NotFound or InvalidArgument, with the file's name, for a file that cannot be read or holds no
// config.
absl::StatusOr<std::vector<ModelRequest>> ReadModelRequests(const ModelOptions& options);

// One line about a model: "Qwen--Qwen3-8B: qwen3, 36 layers, hidden 4096, intermediate 12288, gated
// silu, bf16".
std::string DescribeModel(const ModelRequest& request);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_MODEL_OPTIONS_H_
