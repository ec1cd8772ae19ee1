#include "runtime/tools/verify_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/command.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/forced_kernel.h"
#include "runtime/tools/launch_buffers.h"
#include "src/base/status.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr uint32_t kSeed = 20261130;

VerifyOutcome OutcomeOf(const absl::Status& status) {
  if (IsDeclined(status)) return VerifyOutcome::kDeclined;
  return ExitCodeOf(status) == ExitCode::kMissing ? VerifyOutcome::kMissing
                                                  : VerifyOutcome::kFailed;
}

}  // namespace

struct VerifyRun::Subject {
  FfnProblem problem;
  FfnLayer layer;
  DeviceExpectation expected;                           // of the largest token count
  api::Op op;                                           // empty for an op that runs past the API
  api::Binding binding;                                 // likewise
  std::array<std::optional<LaunchBuffers>, 2> buffers;  // packed, padded
  std::map<int, ForcedKernel> forced;                   // by token tile, past the API
};

struct VerifyRun::Launcher {
  size_t workspace_bytes = 0;
  std::string plan;  // its summary
  std::string dataflow;
  std::function<absl::Status(const LaunchBuffers& buffers)> init_workspace;
  std::function<absl::Status(const FfnOperandViews& views, const LaunchBuffers& buffers,
                             const fusebox_ffn_args& args)>
      launch;
};

absl::StatusOr<VerifyRun::Subject> VerifyRun::Prepare(const OpToRun& to_run,
                                                      WarmedOp warmed) const {
  // A token tile that is declined says so at its launch.
  const bool has_op = static_cast<bool>(warmed.op);
  if (!warmed.status.ok() && !(has_op && IsDeclined(warmed.status))) return warmed.status;
  const FfnProblem& problem = *to_run.problem;
  const int64_t tokens = *std::max_element(to_run.tokens.begin(), to_run.tokens.end());
  FUSEBOX_ASSIGN_OR_RETURN(FfnLayer layer, FfnLayer::Make(*session_, *kernels_, problem, kSeed));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceReference reference,
                           DeviceReference::Load(*session_, problem));
  FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers rows,
                           LaunchBuffers::Make(*session_, problem, kWorkspaceHeaderBytes));
  FfnOperandViews views = layer.views();
  views.x = rows.x().View(tokens);
  views.residual = rows.residual().View(tokens);
  FUSEBOX_RETURN_IF_ERROR(FillRows(views));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceExpectation expected, reference.Compute(views));
  api::Binding binding;
  if (has_op) {
    FUSEBOX_RETURN_IF_ERROR(ApiStatus(binding.BindFfn(warmed.op, layer.weights()).code()));
  }
  return Subject{.problem = problem,
                 .layer = std::move(layer),
                 .expected = std::move(expected),
                 .op = std::move(warmed.op),
                 .binding = std::move(binding),
                 .buffers = {},
                 .forced = {}};
}

// The first rows are the same whatever their number and stride.
absl::Status VerifyRun::FillRows(const FfnOperandViews& views) const {
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(views.x, kActivationLimit, 7 * kSeed));
  return kernels_->FillUniform(views.residual, kActivationLimit, 11 * kSeed);
}

absl::StatusOr<VerifyRun::Launcher> VerifyRun::LauncherThroughApi(const Subject& subject,
                                                                  int64_t tokens) const {
  Launcher launcher;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      subject.op.WorkspaceSize(static_cast<int32_t>(tokens), &launcher.workspace_bytes).code()));
  const PlanGlance glance = GlanceAtPlan(subject.op, tokens);
  launcher.plan = glance.summary;
  launcher.dataflow = glance.dataflow;
  launcher.init_workspace = [this, &subject](const LaunchBuffers& buffers) {
    const DeviceBuffer& workspace = buffers.workspace();
    return ApiStatus(
        subject.op.InitWorkspace(workspace.as<void>(), workspace.bytes(), session_->stream())
            .code());
  };
  launcher.launch = [this, &subject](const FfnOperandViews&, const LaunchBuffers&,
                                     const fusebox_ffn_args& args) {
    return ApiStatus(subject.binding.LaunchFfn(args, session_->stream()).code());
  };
  return launcher;
}

absl::StatusOr<VerifyRun::Launcher> VerifyRun::LauncherOfPlan(Subject& subject,
                                                              int64_t tokens) const {
  FUSEBOX_ASSIGN_OR_RETURN(const int tile, TokenTileFor(tokens));
  auto found = subject.forced.find(tile);
  if (found == subject.forced.end()) {
    FUSEBOX_ASSIGN_OR_RETURN(const SearchReport report,
                             ChoosePlan(subject.problem, tile, gpu_, session_->overrides()));
    FUSEBOX_ASSIGN_OR_RETURN(ForcedKernel made, ForcedKernel::Make(*session_, report.best.plan));
    found = subject.forced.emplace(tile, std::move(made)).first;
  }
  const ForcedKernel& kernel = found->second;
  const FusionPlan& plan = kernel.plan();
  Launcher launcher = {
      .workspace_bytes = kernel.workspace_bytes(),
      .plan = plan.Summary(),
      .dataflow = absl::StrCat(ToString(plan.edge_scope), "_", ToString(plan.edge_collective))};
  launcher.init_workspace = [](const LaunchBuffers& buffers) {
    return buffers.InitWorkspaceByHand();
  };
  launcher.launch = [this, &kernel](const FfnOperandViews& views, const LaunchBuffers& buffers,
                                    const fusebox_ffn_args& args) -> absl::Status {
    FUSEBOX_ASSIGN_OR_RETURN(FfnParams params, kernel.Params(views, buffers));
    params.residual_out = static_cast<unsigned short*>(args.residual_out);
    params.residual_out_stride = args.residual_out_stride;
    return kernel.Launch(params, ProgrammaticOverlap::kAllowed, session_->stream());
  };
  return launcher;
}

absl::StatusOr<const LaunchBuffers*> VerifyRun::BuffersFor(Subject& subject, int64_t tokens,
                                                           size_t workspace_bytes) const {
  const bool is_padded = tokens % 2 == 0;
  std::optional<LaunchBuffers>& buffers = subject.buffers[is_padded ? 1 : 0];
  if (!buffers.has_value() || buffers->workspace().bytes() < workspace_bytes) {
    const RowPadding padding =
        is_padded ? RowPadding{.x = 8, .y = 24, .residual = 16, .residual_out = 32} : RowPadding{};
    buffers.reset();  // before the larger one is made
    FUSEBOX_ASSIGN_OR_RETURN(
        buffers, LaunchBuffers::Make(*session_, subject.problem, workspace_bytes, padding));
  }
  for (const TokenMatrix* rows : {&buffers->x(), &buffers->residual(), &buffers->residual_out()})
    FUSEBOX_RETURN_IF_ERROR(rows->Poison());
  return &*buffers;
}

absl::Status VerifyRun::VerifyTokens(Subject& subject, int64_t tokens, VerifyRow& row) const {
  FUSEBOX_ASSIGN_OR_RETURN(const Launcher launcher, subject.problem.rounding == Rounding::kEngine
                                                        ? LauncherThroughApi(subject, tokens)
                                                        : LauncherOfPlan(subject, tokens));
  row.plan = launcher.plan;
  row.dataflow = launcher.dataflow;
  FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers* const buffers,
                           BuffersFor(subject, tokens, launcher.workspace_bytes));
  FfnOperandViews views = subject.layer.views();
  views.x = buffers->x().View(tokens);
  views.residual = buffers->residual().View(tokens);
  FUSEBOX_RETURN_IF_ERROR(FillRows(views));
  FUSEBOX_RETURN_IF_ERROR(launcher.init_workspace(*buffers));

  const ResidualMode mode = subject.problem.residual_mode;
  std::vector<fusebox_ffn_args> launches(static_cast<size_t>(repeat_), buffers->Args(tokens, mode));
  if (mode == ResidualMode::kAddBeforeNorm) launches.push_back(buffers->ArgsInPlace(tokens));
  std::vector<uint16_t> first;
  for (const fusebox_ffn_args& args : launches) {
    FUSEBOX_RETURN_IF_ERROR(buffers->y().Poison());
    FUSEBOX_RETURN_IF_ERROR(buffers->PoisonPartials());
    FUSEBOX_RETURN_IF_ERROR(launcher.launch(views, *buffers, args));
    FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> y, buffers->TakeOutput(tokens));
    FUSEBOX_RETURN_IF_ERROR(Judge(subject.expected, y, args, *buffers, row));
    if (row.outcome != VerifyOutcome::kRight) return absl::OkStatus();
    if (first.empty()) first = y;
    if (y != first) {
      row.outcome = VerifyOutcome::kWrong;
      row.sentence = args.residual_out != nullptr && args.residual_out == args.residual
                         ? "y differs where residual_out is residual"
                         : "y differs between launches of the same inputs";
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyRun::Judge(const DeviceExpectation& expected, const std::vector<uint16_t>& y,
                              const fusebox_ffn_args& args, const LaunchBuffers& buffers,
                              VerifyRow& row) {
  const auto hidden = static_cast<int64_t>(y.size()) / args.tokens;
  const BoundComparison comparison = CompareWithin(expected, y, hidden);
  row.worst_ratio = std::max(row.worst_ratio, comparison.worst_ratio);
  row.outcome = comparison.num_wrong == 0 ? VerifyOutcome::kRight : VerifyOutcome::kWrong;
  if (comparison.num_wrong > 0) {
    row.sentence = absl::StrCat(comparison.num_wrong, " of ", y.size(),
                                " elements are wrong; the first: ", comparison.first_wrong);
  }
  if (args.residual_out == nullptr) return buffers.residual_out().TakeRows(0).status();
  const bool is_in_place = args.residual_out == args.residual;
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::vector<uint16_t> sums,
      (is_in_place ? buffers.residual() : buffers.residual_out()).TakeRows(args.tokens));
  const std::string difference = DifferenceOfSums(expected, sums, hidden);
  if (difference.empty()) return absl::OkStatus();
  row.outcome = VerifyOutcome::kWrong;
  absl::StrAppend(&row.sentence, row.sentence.empty() ? "" : "; ", difference);
  return absl::OkStatus();
}

void VerifyRun::Verify(const OpToVerify& to_verify, WarmedOp warmed, const RowSink& sink) {
  const OpToRun& op = to_verify.op;
  VerifyRow row = {
      .models = to_verify.models, .op = op.name, .tensor_parallel = op.tensor_parallel};
  const auto fail = [&](const absl::Status& status) {
    row.outcome = OutcomeOf(status);
    row.sentence = std::string(status.message());
    sink(row);
  };
  if (!op.problem.ok()) return fail(op.problem.status());
  const FfnProblem& problem = *op.problem;
  row.shape = absl::StrCat(problem.hidden.value(), "x", problem.intermediate.value());
  row.variant = absl::StrCat(ToString(problem.form), "_", ToString(problem.activation), "_",
                             ToString(problem.dtype), " ", VariantName(problem));
  absl::StatusOr<Subject> subject = Prepare(op, std::move(warmed));
  if (!subject.ok()) return fail(subject.status());
  for (const int64_t tokens : op.tokens) {
    row.tokens = tokens;
    row.plan.clear();
    row.dataflow.clear();
    row.worst_ratio = 0;
    row.sentence.clear();
    const absl::Status status = VerifyTokens(*subject, tokens, row);
    if (!status.ok()) {
      fail(status);
    } else {
      sink(row);
    }
  }
}

PlanGlance GlanceAtPlan(const api::Op& op, int64_t tokens) {
  size_t bytes = 0;
  if (!op.PlanJson(static_cast<int32_t>(tokens), nullptr, 0, &bytes)) return {};
  std::string text(bytes, '\0');
  if (!op.PlanJson(static_cast<int32_t>(tokens), text.data(), bytes, nullptr)) return {};
  text.resize(bytes - 1);
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return {};
  using Pointer = nlohmann::json::json_pointer;
  const auto edge = [&](const char* part) {
    return json.value(Pointer(absl::StrCat("/search/best/plan/edge/", part)), std::string());
  };
  return {.summary = json.value(Pointer("/search/best/summary"), std::string()),
          .dataflow = absl::StrCat(edge("scope"), "_", edge("collective")),
          .predicted_us = json.value(Pointer("/search/best/cost/us"), 0.0)};
}

}  // namespace fusebox
