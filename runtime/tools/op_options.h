// OpOptions name one op by its dims, instead of a model: for plan, verify and bench.
// Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_
#define FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tools/model_options.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct OpOptions {
  int64_t hidden = 0;  // 0: no op is named
  int64_t intermediate = 0;
  std::string activation;  // empty: silu when gated, gelu_erf when plain
  std::string form = "gated";
  std::string residual = "none";  // of the op named, or of a model's ops
};

// --hidden, --intermediate, --activation, --form, --residual. `options` must outlive the parse.
void AddOpOptions(CLI::App& command, OpOptions& options);

// InvalidArgument for an unknown name, or where a dim is missing. The dims are not checked.
absl::StatusOr<FfnProblem> ProblemFrom(const OpOptions& options);

// One op to run on the GPU, with every token count asked for; a declined one has none.
struct OpToRun {
  std::string model;  // the config's file name without ".json"; empty for an op named by dims
  std::string name;
  int64_t tensor_parallel = 1;
  std::vector<int64_t> tokens;
  absl::StatusOr<FfnProblem> problem;  // or Declined
};

// The models' ops, or the one named by its dims; each problem of a model and degree once.
absl::StatusOr<std::vector<OpToRun>> OpsToRun(const ModelOptions& model, const OpOptions& op);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_OP_OPTIONS_H_
