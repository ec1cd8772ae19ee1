#include "runtime/tools/verify_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/tools/command.h"
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
  api::Op op;
  api::Binding binding;
};

absl::StatusOr<VerifyRun::Subject> VerifyRun::Prepare(const OpToRun& to_run) {
  const FfnProblem& problem = *to_run.problem;
  api::Op op;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(*engine_, DescOf(problem)).code()));
  const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
  const absl::Status prepared =
      ApiStatus(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BLOCK).code());
  if (!prepared.ok() && !IsDeclined(prepared)) return prepared;  // a declined tile: at its launch
  FUSEBOX_ASSIGN_OR_RETURN(FfnLayer layer, FfnLayer::Make(*session_, *kernels_, problem, kSeed));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceReference reference, DeviceReference::Load(*session_, problem));
  api::Binding binding;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(binding.BindFfn(op, layer.weights()).code()));
  return Subject{.problem = problem,
                 .layer = std::move(layer),
                 .reference = std::move(reference),
                 .op = std::move(op),
                 .binding = std::move(binding)};
}

absl::Status VerifyRun::VerifyTokens(const Subject& subject, int64_t tokens, VerifyRow& row) {
  const int64_t hidden = subject.problem.hidden.value();
  size_t workspace_bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(
      ApiStatus(subject.op.WorkspaceSize(static_cast<int32_t>(tokens), &workspace_bytes).code()));
  // Odd counts run packed, even ones with padding between the rows.
  const RowPadding padding =
      tokens % 2 == 0 ? RowPadding{.x = 8, .y = 24, .residual = 16} : RowPadding{};
  FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers buffers,
                           LaunchBuffers::Make(*session_, hidden, workspace_bytes, padding));
  const auto seed = kSeed + static_cast<uint32_t>(tokens);
  FfnOperandViews views = subject.layer.views();
  views.x = buffers.x().View(tokens);
  views.residual = buffers.residual().View(tokens);
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(views.x, kActivationLimit, 7 * seed));
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(views.residual, kActivationLimit, 11 * seed));
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      subject.op.InitWorkspace(buffers.workspace().as<void>(), workspace_bytes, session_->stream())
          .code()));
  FUSEBOX_RETURN_IF_ERROR(buffers.PoisonPartials());

  const fusebox_ffn_args args = buffers.Args(tokens, subject.problem.residual_mode);
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(subject.binding.LaunchFfn(args, session_->stream()).code()));
  FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());

  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> got, buffers.TakeOutput(tokens));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceExpectation expected, subject.reference.Compute(views));
  const BoundComparison comparison = CompareWithin(expected, got, hidden);
  row.worst_ratio = comparison.worst_ratio;
  row.outcome = comparison.num_wrong == 0 ? VerifyOutcome::kRight : VerifyOutcome::kWrong;
  if (comparison.num_wrong > 0) {
    row.sentence = absl::StrCat(comparison.num_wrong, " of ", got.size(),
                                " elements are wrong; the first: ", comparison.first_wrong);
  }
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
    row.plan = GlanceAtPlan(subject->op, tokens).summary;
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
