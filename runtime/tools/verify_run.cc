#include "runtime/tools/verify_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/command.h"
#include "runtime/tools/forced_kernel.h"
#include "runtime/tools/launch_buffers.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr uint32_t kSeed = 20261130;

VerifyOutcome OutcomeOf(const absl::Status& status) {
  if (IsDeclined(status)) return VerifyOutcome::kDeclined;
  return ExitCodeOf(status) == ExitCode::kMissing ? VerifyOutcome::kMissing
                                                  : VerifyOutcome::kFailed;
}

}  // namespace

std::string_view ToString(VerifyOutcome outcome) {
  switch (outcome) {
    case VerifyOutcome::kRight:
      return "right";
    case VerifyOutcome::kWrong:
      return "WRONG";
    case VerifyOutcome::kDeclined:
      return "declined";
    case VerifyOutcome::kFailed:
      return "FAILED";
    case VerifyOutcome::kMissing:
      return "missing";
  }
  return "unknown";
}

struct VerifyRun::Subject {
  FfnProblem problem;
  FfnLayer layer;
  DeviceReference reference;
  api::Op op;            // empty for an op that runs past the API
  api::Binding binding;  // likewise
};

struct VerifyRun::Launcher {
  size_t workspace_bytes = 0;
  std::string plan;  // its summary
  std::function<absl::Status(const LaunchBuffers& buffers)> init_workspace;
  std::function<absl::Status(const FfnOperandViews& views, const LaunchBuffers& buffers,
                             const fusebox_ffn_args& args)>
      launch;
};

absl::StatusOr<VerifyRun::Subject> VerifyRun::Prepare(const OpToRun& to_run) {
  const FfnProblem& problem = *to_run.problem;
  api::Op op;
  if (problem.rounding == Rounding::kEngine) {
    FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(*engine_, DescOf(problem)).code()));
    const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
    const absl::Status prepared =
        ApiStatus(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BLOCK).code());
    if (!prepared.ok() && !IsDeclined(prepared)) return prepared;  // a declined tile: at its launch
  }
  FUSEBOX_ASSIGN_OR_RETURN(FfnLayer layer, FfnLayer::Make(*session_, *kernels_, problem, kSeed));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceReference reference, DeviceReference::Load(*session_, problem));
  api::Binding binding;
  if (problem.rounding == Rounding::kEngine) {
    FUSEBOX_RETURN_IF_ERROR(ApiStatus(binding.BindFfn(op, layer.weights()).code()));
  }
  return Subject{.problem = problem,
                 .layer = std::move(layer),
                 .reference = std::move(reference),
                 .op = std::move(op),
                 .binding = std::move(binding)};
}

absl::StatusOr<VerifyRun::Launcher> VerifyRun::LauncherThroughApi(const Subject& subject,
                                                                  int64_t tokens) const {
  Launcher launcher;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      subject.op.WorkspaceSize(static_cast<int32_t>(tokens), &launcher.workspace_bytes).code()));
  launcher.plan = GlanceAtPlan(subject.op, tokens).summary;
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

absl::StatusOr<VerifyRun::Launcher> VerifyRun::LauncherOfPlan(const Subject& subject,
                                                              int64_t tokens) const {
  FUSEBOX_ASSIGN_OR_RETURN(const int tile, TokenTileFor(tokens));
  FUSEBOX_ASSIGN_OR_RETURN(const SearchReport report,
                           ChoosePlan(subject.problem, tile, gpu_, session_->overrides()));
  FUSEBOX_ASSIGN_OR_RETURN(const ForcedKernel kernel,
                           ForcedKernel::Make(*session_, report.best.plan));
  Launcher launcher = {.workspace_bytes = kernel.workspace_bytes(),
                       .plan = report.best.plan.Summary()};
  launcher.init_workspace = [](const LaunchBuffers& buffers) {
    return buffers.InitWorkspaceByHand();
  };
  launcher.launch = [this, kernel](const FfnOperandViews& views, const LaunchBuffers& buffers,
                                   const fusebox_ffn_args& args) -> absl::Status {
    FUSEBOX_ASSIGN_OR_RETURN(FfnParams params, kernel.Params(views, buffers));
    params.residual_out = static_cast<unsigned short*>(args.residual_out);
    params.residual_out_stride = args.residual_out_stride;
    return kernel.Launch(params, ProgrammaticOverlap::kAllowed, session_->stream());
  };
  return launcher;
}

absl::Status VerifyRun::VerifyTokens(const Subject& subject, int64_t tokens, VerifyRow& row) {
  FUSEBOX_ASSIGN_OR_RETURN(const Launcher launcher, subject.problem.rounding == Rounding::kEngine
                                                        ? LauncherThroughApi(subject, tokens)
                                                        : LauncherOfPlan(subject, tokens));
  row.plan = launcher.plan;
  // Odd counts run packed, even ones with padding between the rows.
  const RowPadding padding = tokens % 2 == 0
                                 ? RowPadding{.x = 8, .y = 24, .residual = 16, .residual_out = 32}
                                 : RowPadding{};
  FUSEBOX_ASSIGN_OR_RETURN(
      const LaunchBuffers buffers,
      LaunchBuffers::Make(*session_, subject.problem, launcher.workspace_bytes, padding));
  const auto seed = kSeed + static_cast<uint32_t>(tokens);
  FfnOperandViews views = subject.layer.views();
  views.x = buffers.x().View(tokens);
  views.residual = buffers.residual().View(tokens);
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(views.x, kActivationLimit, 7 * seed));
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(views.residual, kActivationLimit, 11 * seed));
  FUSEBOX_RETURN_IF_ERROR(launcher.init_workspace(buffers));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceExpectation expected, subject.reference.Compute(views));

  const ResidualMode mode = subject.problem.residual_mode;
  std::vector<fusebox_ffn_args> launches = {buffers.Args(tokens, mode)};
  if (mode == ResidualMode::kAddBeforeNorm) launches.push_back(buffers.ArgsInPlace(tokens));
  std::vector<uint16_t> first;
  for (const fusebox_ffn_args& args : launches) {
    FUSEBOX_RETURN_IF_ERROR(buffers.y().Poison());
    FUSEBOX_RETURN_IF_ERROR(buffers.PoisonPartials());
    FUSEBOX_RETURN_IF_ERROR(launcher.launch(views, buffers, args));
    FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> y, buffers.TakeOutput(tokens));
    FUSEBOX_RETURN_IF_ERROR(Judge(expected, y, args, buffers, row));
    if (row.outcome != VerifyOutcome::kRight) return absl::OkStatus();
    if (first.empty()) first = y;
    if (y != first) {
      row.outcome = VerifyOutcome::kWrong;
      row.sentence = "y differs where residual_out is residual";
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

void VerifyRun::Verify(const OpToRun& op, const RowSink& sink) {
  VerifyRow row = {.model = op.model, .op = op.name, .tensor_parallel = op.tensor_parallel};
  const auto fail = [&](const absl::Status& status) {
    row.outcome = OutcomeOf(status);
    row.sentence = std::string(status.message());
    sink(row);
  };
  if (!op.problem.ok()) return fail(op.problem.status());
  const absl::StatusOr<Subject> subject = Prepare(op);
  if (!subject.ok()) return fail(subject.status());
  for (const int64_t tokens : op.tokens) {
    row.tokens = tokens;
    row.plan.clear();
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
  return {.summary = json.value(Pointer("/search/best/summary"), std::string()),
          .predicted_us = json.value(Pointer("/search/best/cost/us"), 0.0)};
}

}  // namespace fusebox
