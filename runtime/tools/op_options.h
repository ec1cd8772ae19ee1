// OpOptions name one op by its dims, or several by a shape file, instead of a model, and the
// variant: norm, biases, residual, rounding. For plan, verify and bench. Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_
#define FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/shape_file.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct OpOptions {
  int64_t hidden = 0;  // 0: no op is named
  int64_t intermediate = 0;
  std::string shape_file;  // instead of one op; empty: none
  std::string activation;  // empty: silu when gated, gelu_erf when plain
  std::string form = "gated";
  // Of the op named, or instead of what a model's ops have; empty: none, or the model's.
  std::string norm;
  std::string residual;
  std::string bias;    // "none", "up", "down", "both"
  std::string layout;  // "out_in", "in_out"
  // Engines' rounding is what the public API serves; "fused" kernels run past it.
  std::string rounding = "engine";
};

// --hidden, --intermediate, --shapes, --activation, --form, --norm, --residual, --bias, --layout,
// --rounding; the dtype is ModelOptions'. `options` must outlive the parse.
void AddOpOptions(CLI::App& command, OpOptions& options);

// Puts norm, residual, biases, layout and rounding as asked into a problem. InvalidArgument for an
// unknown name, and where the options contradict each other or the problem.
absl::Status ApplyVariant(const OpOptions& op, FfnProblem& problem);

// The one op named by its dims, without a name, or the shape file's. InvalidArgument for an unknown
// name, or where a dim is missing or absurd; NotFound for a file that is not there.
absl::StatusOr<std::vector<NamedShape>> ShapesFrom(const ModelOptions& model, const OpOptions& op);

// One op to run on the GPU, with every token count asked for; a declined one has none.
struct OpToRun {
  std::string model;  // the config's file name without ".json", or the shape's name; or empty
  std::string name;
  int64_t tensor_parallel = 1;
  std::vector<int64_t> tokens;
  absl::StatusOr<FfnProblem> problem;  // or Declined
};

// The models' ops, or those named by their dims; each problem of a model and degree once.
// InvalidArgument where the options contradict each other.
absl::StatusOr<std::vector<OpToRun>> OpsToRun(const ModelOptions& model, const OpOptions& op);

// What the op computes beside the block that baselines compute too: "bare", or of norm, residual,
// biases, layout and rounding what it has: "rms_add_before_norm", "layer_add_after_bias".
std::string VariantName(const FfnProblem& problem);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_
