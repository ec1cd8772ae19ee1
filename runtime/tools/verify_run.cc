#include "runtime/tools/verify_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/tools/command.h"
#include "src/base/status.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr size_t kElementBytes = 2;
constexpr uint8_t kNanByte = 0xff;  // every bf16 and fp32 made of it is a NaN
constexpr uint16_t kNanBits = 0xffff;
constexpr uint32_t kSeed = 20261130;

// A [32, hidden] matrix of tokens, its rows `stride` elements apart, full of NaN.
struct TokenMatrix {
  DeviceBuffer buffer;
  int64_t stride;

  MatrixView View(int64_t tokens, int64_t hidden) const {
    return {.data = buffer.as<void>(), .rows = tokens, .columns = hidden, .row_stride = stride};
  }
};

absl::StatusOr<TokenMatrix> MakeTokenMatrix(const GpuSession& session, const char* name,
                                            int64_t stride) {
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer buffer,
      DeviceBuffer::Make(session, name, static_cast<size_t>(kMaxTokens * stride) * kElementBytes));
  FUSEBOX_RETURN_IF_ERROR(buffer.Fill(kNanByte));
  return TokenMatrix{.buffer = std::move(buffer), .stride = stride};
}

// Rows of `all` without their padding; Internal where anything outside [tokens, hidden] was
// written.
absl::StatusOr<std::vector<uint16_t>> TakeOutput(const std::vector<uint16_t>& all, int64_t stride,
                                                 int64_t tokens, int64_t hidden) {
  std::vector<uint16_t> y;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / stride;
    const int64_t column = static_cast<int64_t>(i) % stride;
    if (row < tokens && column < hidden) {
      y.push_back(all[i]);
    } else if (all[i] != kNanBits) {
      return absl::InternalError(absl::StrCat("y was written outside [", tokens, ", ", hidden,
                                              "]: row ", row, ", column ", column));
    }
  }
  return y;
}

// Report and counters must be zero between launches.
absl::Status CheckHeader(const DeviceBuffer& workspace) {
  std::vector<uint32_t> header(kWorkspaceHeaderBytes / sizeof(uint32_t));
  FUSEBOX_RETURN_IF_ERROR(workspace.Download(header.data(), 0, kWorkspaceHeaderBytes));
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == 0) continue;
    return absl::InternalError(
        absl::StrCat("word ", i, " of the workspace is ", header[i], " after the launch, not 0"));
  }
  return absl::OkStatus();
}

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
  const bool adds_residual = subject.problem.residual_mode == ResidualMode::kAddAfter;
  // Odd counts run packed, even ones with padding between the rows.
  const int64_t padding = tokens % 2 == 0 ? 8 : 0;
  FUSEBOX_ASSIGN_OR_RETURN(const TokenMatrix x, MakeTokenMatrix(*session_, "x", hidden + padding));
  FUSEBOX_ASSIGN_OR_RETURN(const TokenMatrix y,
                           MakeTokenMatrix(*session_, "y", hidden + 3 * padding));
  FUSEBOX_ASSIGN_OR_RETURN(const TokenMatrix residual,
                           MakeTokenMatrix(*session_, "residual", hidden + 2 * padding));
  const auto seed = kSeed + static_cast<uint32_t>(tokens);
  FUSEBOX_RETURN_IF_ERROR(
      kernels_->FillUniform(x.View(tokens, hidden), kActivationLimit, 7 * seed));
  FUSEBOX_RETURN_IF_ERROR(
      kernels_->FillUniform(residual.View(tokens, hidden), kActivationLimit, 11 * seed));

  size_t workspace_bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(
      ApiStatus(subject.op.WorkspaceSize(static_cast<int32_t>(tokens), &workspace_bytes).code()));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer workspace,
                           DeviceBuffer::Make(*session_, "workspace", workspace_bytes));
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      subject.op.InitWorkspace(workspace.as<void>(), workspace_bytes, session_->stream()).code()));
  FUSEBOX_RETURN_IF_ERROR(workspace.FillRange(kWorkspaceHeaderBytes,
                                              workspace_bytes - kWorkspaceHeaderBytes, kNanByte));

  fusebox_ffn_args args = api::FfnArgs();
  args.tokens = static_cast<int32_t>(tokens);
  args.x = x.buffer.as<void>();
  args.x_stride = x.stride;
  args.residual = adds_residual ? residual.buffer.as<void>() : nullptr;
  args.residual_stride = residual.stride;
  args.y = y.buffer.as<void>();
  args.y_stride = y.stride;
  args.workspace = workspace.as<void>();
  args.workspace_bytes = workspace_bytes;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(subject.binding.LaunchFfn(args, session_->stream()).code()));
  FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());

  for (const DeviceBuffer* buffer : {&x.buffer, &y.buffer, &residual.buffer, &workspace}) {
    FUSEBOX_RETURN_IF_ERROR(buffer->CheckGuards());
  }
  FUSEBOX_RETURN_IF_ERROR(CheckHeader(workspace));
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> all, y.buffer.DownloadAll<uint16_t>());
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> got,
                           TakeOutput(all, y.stride, tokens, hidden));
  FfnOperandViews views = subject.layer.views();
  views.x = x.View(tokens, hidden);
  views.residual = residual.View(tokens, hidden);
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
    row.plan = PlanSummary(subject->op, tokens);
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

std::string PlanSummary(const api::Op& op, int64_t tokens) {
  size_t bytes = 0;
  if (!op.PlanJson(static_cast<int32_t>(tokens), nullptr, 0, &bytes)) return "";
  std::string text(bytes, '\0');
  if (!op.PlanJson(static_cast<int32_t>(tokens), text.data(), bytes, nullptr)) return "";
  text.resize(bytes - 1);
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto pointer = nlohmann::json::json_pointer("/search/best/summary");
  return json.is_discarded() ? "" : json.value(pointer, std::string());
}

}  // namespace fusebox
