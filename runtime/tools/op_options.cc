#include "runtime/tools/op_options.h"

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

// The value of `choices` that is spelled `text`.
template <typename Enum>
absl::StatusOr<Enum> ByName(std::string_view option, std::string_view text,
                            std::initializer_list<Enum> choices) {
  std::string accepted;
  for (const Enum choice : choices) {
    if (ToString(choice) == text) return choice;
    absl::StrAppend(&accepted, accepted.empty() ? "" : ", ", ToString(choice));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", text, " is unknown; accepted: ", accepted));
}

absl::StatusOr<ResidualMode> ResidualFrom(const OpOptions& options) {
  return ByName("--residual", options.residual, {ResidualMode::kNone, ResidualMode::kAddAfter});
}

// Adds the op, or its tokens to the entry before where that is the same problem.
void Append(const std::string& model, const ModelOp& op, ResidualMode residual,
            std::vector<OpToRun>& ops) {
  OpToRun next = {.model = model,
                  .name = op.name,
                  .tensor_parallel = op.tensor_parallel,
                  .tokens = op.tokens,
                  .problem = FfnProblem{}};
  if (op.op.ok()) {
    *next.problem = op.op->problem;
    next.problem->residual_mode = residual;
    next.name = next.problem->Name();
  } else {
    next.problem = op.op.status();
  }
  OpToRun* const last = ops.empty() ? nullptr : &ops.back();
  if (last != nullptr && last->model == model && last->tensor_parallel == op.tensor_parallel &&
      last->problem.ok() && next.problem.ok() && *last->problem == *next.problem) {
    last->tokens.insert(last->tokens.end(), op.tokens.begin(), op.tokens.end());
    return;
  }
  ops.push_back(std::move(next));
}

}  // namespace

void AddOpOptions(CLI::App& command, OpOptions& options) {
  command.add_option("--hidden", options.hidden, "hidden size of one op, instead of --model")
      ->type_name("N");
  command.add_option("--intermediate", options.intermediate, "intermediate size of one op")
      ->type_name("N");
  command.add_option("--activation", options.activation, "silu, gelu_erf or relu")
      ->type_name("NAME");
  command.add_option("--form", options.form, "gated or plain")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--residual", options.residual, "none or add_after")
      ->capture_default_str()
      ->type_name("NAME");
}

absl::StatusOr<FfnProblem> ProblemFrom(const OpOptions& options) {
  if ((options.hidden == 0) != (options.intermediate == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.hidden == 0 ? "--hidden" : "--intermediate",
                     " is missing; an op has both --hidden N and --intermediate N"));
  }
  if (options.hidden == 0) {
    return absl::InvalidArgumentError(
        "no op is named; pass --model FILE, or --hidden N and --intermediate N");
  }
  FUSEBOX_ASSIGN_OR_RETURN(const FfnForm form,
                           ByName("--form", options.form, {FfnForm::kGated, FfnForm::kPlain}));
  Activation activation = form == FfnForm::kGated ? Activation::kSilu : Activation::kGeluErf;
  if (!options.activation.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(activation,
                             ByName("--activation", options.activation,
                                    {Activation::kSilu, Activation::kGeluErf, Activation::kRelu}));
  }
  FUSEBOX_ASSIGN_OR_RETURN(const ResidualMode residual, ResidualFrom(options));
  return FfnProblem{.hidden = DimK(options.hidden),
                    .intermediate = DimN(options.intermediate),
                    .activation = activation,
                    .form = form,
                    .residual_mode = residual};
}

absl::StatusOr<std::vector<OpToRun>> OpsToRun(const ModelOptions& model, const OpOptions& op) {
  std::vector<OpToRun> ops;
  FUSEBOX_ASSIGN_OR_RETURN(const ResidualMode residual, ResidualFrom(op));
  if (model.model_files.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const FfnProblem fields, ProblemFrom(op));
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelOp> tiled, OpsOfProblem(fields, model.tokens));
    for (const ModelOp& tile : tiled) Append("", tile, residual, ops);
    return ops;
  }
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelRequest> requests, ReadModelRequests(model));
  for (const ModelRequest& request : requests) {
    if (!request.declined.ok()) {
      ops.push_back({.model = request.model, .name = "ffn", .problem = request.declined});
    }
    for (const ModelOp& tile : request.ops) Append(request.model, tile, residual, ops);
  }
  return ops;
}

}  // namespace fusebox
