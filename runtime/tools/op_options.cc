#include "runtime/tools/op_options.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tools/by_name.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

absl::Status ReadBias(std::string_view name, FfnProblem& problem) {
  problem.up_bias = name == "up" || name == "both";
  problem.down_bias = name == "down" || name == "both";
  if (problem.up_bias || problem.down_bias || name == "none") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--bias ", name, " is unknown; accepted: none, up, down, both"));
}

// Adds the op, or its tokens to the entry before where that is the same problem.
absl::Status Append(const std::string& model, const ModelOp& op, const OpOptions& options,
                    std::vector<OpToRun>& ops) {
  OpToRun next = {.model = model,
                  .name = op.name,
                  .tensor_parallel = op.tensor_parallel,
                  .tokens = op.tokens,
                  .problem = FfnProblem{}};
  if (op.op.ok()) {
    *next.problem = op.op->problem;
    FUSEBOX_RETURN_IF_ERROR(ApplyVariant(options, *next.problem));
    next.name = next.problem->Name();
  } else {
    next.problem = op.op.status();
  }
  OpToRun* const last = ops.empty() ? nullptr : &ops.back();
  if (last != nullptr && last->model == model && last->tensor_parallel == op.tensor_parallel &&
      last->problem.ok() && next.problem.ok() && *last->problem == *next.problem) {
    last->tokens.insert(last->tokens.end(), op.tokens.begin(), op.tokens.end());
    return absl::OkStatus();
  }
  ops.push_back(std::move(next));
  return absl::OkStatus();
}

}  // namespace

void AddOpOptions(CLI::App& command, OpOptions& options) {
  command.add_option("--hidden", options.hidden, "hidden size of one op, instead of --model")
      ->type_name("N");
  command.add_option("--intermediate", options.intermediate, "intermediate size of one op")
      ->type_name("N");
  CLI::Option* const shapes =
      command
          .add_option("--shapes", options.shape_file,
                      "ops by their dims, a JSON array as bench/flashfuser/shapes.json; bf16 or "
                      "--dtype, of the variant that the options below ask for")
          ->type_name("FILE");
  command
      .add_option("--activation", options.activation,
                  "silu, gelu_erf, gelu_tanh, gelu_new, relu or relu_squared")
      ->type_name("NAME");
  command.add_option("--form", options.form, "gated or plain")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--norm", options.norm,
                  "none, rms, rms_plus_one or layer; a model's own when left out")
      ->type_name("NAME");
  command
      .add_option("--residual", options.residual,
                  "none, add_before_norm, add_after or sandwich; a model's own when left out")
      ->type_name("NAME");
  command.add_option("--bias", options.bias, "none, up, down or both; a model's own when left out")
      ->type_name("NAME");
  command.add_option("--layout", options.layout, "out_in or in_out; a model's own when left out")
      ->type_name("NAME");
  command.add_option("--rounding", options.rounding, "engine, or fused: in the intermediate alone")
      ->capture_default_str()
      ->type_name("NAME");
  for (const char* other : {"--model", "--hidden", "--intermediate", "--activation", "--form"}) {
    shapes->excludes(command.get_option(other));  // the file says it all
  }
}

absl::Status ApplyVariant(const OpOptions& op, FfnProblem& problem) {
  if (!op.norm.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(
        problem.norm,
        ByName("--norm", op.norm, {Norm::kNone, Norm::kRms, Norm::kRmsPlusOne, Norm::kLayer}));
  }
  if (!op.residual.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(problem.residual_mode, ResidualByName(op.residual));
  }
  if (!op.bias.empty()) FUSEBOX_RETURN_IF_ERROR(ReadBias(op.bias, problem));
  if (!op.layout.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(problem.layout, ByName("--layout", op.layout,
                                                    {WeightLayout::kOutIn, WeightLayout::kInOut}));
  }
  FUSEBOX_ASSIGN_OR_RETURN(
      problem.rounding, ByName("--rounding", op.rounding, {Rounding::kFused, Rounding::kEngine}));
  const absl::Status checked = FfnProblem::Create(problem).status();
  return IsDeclined(checked) ? absl::OkStatus() : checked;
}

namespace {

absl::StatusOr<FfnProblem> ProblemFrom(const ModelOptions& model, const OpOptions& op) {
  if ((op.hidden == 0) != (op.intermediate == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.hidden == 0 ? "--hidden" : "--intermediate",
                     " is missing; an op has both --hidden N and --intermediate N"));
  }
  if (op.hidden == 0) {
    return absl::InvalidArgumentError(
        "no op is named; pass --model FILE, or --hidden N and --intermediate N, or --shapes FILE");
  }
  FfnProblem problem = {.hidden = DimK(op.hidden), .intermediate = DimN(op.intermediate)};
  FUSEBOX_ASSIGN_OR_RETURN(problem.dtype, DTypeByName(model.dtype, DType::kBf16));
  FUSEBOX_ASSIGN_OR_RETURN(problem.form,
                           ByName("--form", op.form, {FfnForm::kGated, FfnForm::kPlain}));
  problem.activation = problem.form == FfnForm::kGated ? Activation::kSilu : Activation::kGeluErf;
  if (!op.activation.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(
        problem.activation,
        ByName("--activation", op.activation,
               {Activation::kSilu, Activation::kGeluErf, Activation::kGeluTanh,
                Activation::kGeluNew, Activation::kRelu, Activation::kReluSquared}));
  }
  FUSEBOX_RETURN_IF_ERROR(ApplyVariant(op, problem));
  return problem;
}

}  // namespace

absl::StatusOr<std::vector<NamedShape>> ShapesFrom(const ModelOptions& model, const OpOptions& op) {
  if (op.shape_file.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const FfnProblem problem, ProblemFrom(model, op));
    return std::vector<NamedShape>{{.name = "", .problem = problem}};
  }
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<NamedShape> shapes, ReadShapeFile(op.shape_file));
  for (NamedShape& shape : shapes) {
    FUSEBOX_ASSIGN_OR_RETURN(shape.problem.dtype, DTypeByName(model.dtype, DType::kBf16));
    FUSEBOX_RETURN_IF_ERROR(ApplyVariant(op, shape.problem));
  }
  return shapes;
}

absl::StatusOr<std::vector<OpToRun>> OpsToRun(const ModelOptions& model, const OpOptions& op) {
  std::vector<OpToRun> ops;
  if (model.model_files.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<NamedShape> shapes, ShapesFrom(model, op));
    for (const NamedShape& shape : shapes) {
      FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelOp> tiled,
                               OpsOfProblem(shape.problem, model.tokens));
      for (const ModelOp& tile : tiled) FUSEBOX_RETURN_IF_ERROR(Append(shape.name, tile, op, ops));
    }
    return ops;
  }
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelRequest> requests, ReadModelRequests(model));
  for (const ModelRequest& request : requests) {
    if (!request.declined.ok()) {
      ops.push_back({.model = request.model, .name = "ffn", .problem = request.declined});
    }
    for (const ModelOp& tile : request.ops) {
      FUSEBOX_RETURN_IF_ERROR(Append(request.model, tile, op, ops));
    }
  }
  return ops;
}

std::string VariantName(const FfnProblem& problem) {
  std::vector<std::string_view> parts;
  if (problem.norm != Norm::kNone) parts.push_back(ToString(problem.norm));
  if (problem.residual_mode != ResidualMode::kNone) {
    parts.push_back(ToString(problem.residual_mode));
  }
  if (problem.up_bias && problem.down_bias) {
    parts.push_back("bias");
  } else if (problem.up_bias || problem.down_bias) {
    parts.push_back(problem.up_bias ? "up_bias" : "down_bias");
  }
  if (problem.layout != WeightLayout::kOutIn) parts.push_back(ToString(problem.layout));
  if (problem.rounding != Rounding::kEngine) parts.push_back(ToString(problem.rounding));
  return parts.empty() ? "bare" : absl::StrJoin(parts, "_");
}

}  // namespace fusebox
