#include "runtime/tools/launch_buffers.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr size_t kElementBytes = 2;
constexpr uint8_t kNanByte = 0xff;  // every bf16, fp16 and fp32 made of it is a NaN

}  // namespace

absl::StatusOr<TokenMatrix> TokenMatrix::Make(const GpuSession& session, const char* name,
                                              DType dtype, int64_t columns, int64_t padding) {
  const int64_t stride = columns + padding;
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer buffer,
      DeviceBuffer::Make(session, name, static_cast<size_t>(kMaxTokens * stride) * kElementBytes));
  TokenMatrix matrix(name, std::move(buffer), dtype, columns, stride);
  FUSEBOX_RETURN_IF_ERROR(matrix.Poison());
  return matrix;
}

MatrixView TokenMatrix::View(int64_t tokens) const {
  return {.data = buffer_.as<void>(),
          .rows = tokens,
          .columns = columns_,
          .row_stride = stride_,
          .dtype = dtype_};
}

absl::Status TokenMatrix::Poison() const { return buffer_.Fill(kNanByte); }

absl::Status TokenMatrix::UploadRows(const std::vector<uint16_t>& values, int64_t tokens) const {
  std::vector<uint16_t> rows(static_cast<size_t>(tokens * stride_), kNanBits);
  for (int64_t row = 0; row < tokens; ++row) {
    std::memcpy(&rows[static_cast<size_t>(row * stride_)],
                &values[static_cast<size_t>(row * columns_)],
                static_cast<size_t>(columns_) * kElementBytes);
  }
  return buffer_.UploadAll(rows);
}

absl::StatusOr<std::vector<uint16_t>> TokenMatrix::TakeRows(int64_t tokens) const {
  FUSEBOX_RETURN_IF_ERROR(buffer_.CheckGuards());
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> all, buffer_.DownloadAll<uint16_t>());
  std::vector<uint16_t> taken;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / stride_;
    const int64_t column = static_cast<int64_t>(i) % stride_;
    if (row < tokens && column < columns_) {
      taken.push_back(all[i]);
    } else if (all[i] != kNanBits) {
      return absl::InternalError(absl::StrCat(name_, " was written outside [", tokens, ", ",
                                              columns_, "]: row ", row, ", column ", column));
    }
  }
  return taken;
}

absl::StatusOr<LaunchBuffers> LaunchBuffers::Make(const GpuSession& session,
                                                  const FfnProblem& problem, size_t workspace_bytes,
                                                  const RowPadding& padding) {
  const auto make = [&](const char* name, int64_t row_padding) {
    return TokenMatrix::Make(session, name, problem.dtype, problem.hidden.value(), row_padding);
  };
  FUSEBOX_ASSIGN_OR_RETURN(TokenMatrix x, make("x", padding.x));
  FUSEBOX_ASSIGN_OR_RETURN(TokenMatrix y, make("y", padding.y));
  FUSEBOX_ASSIGN_OR_RETURN(TokenMatrix residual, make("residual", padding.residual));
  FUSEBOX_ASSIGN_OR_RETURN(TokenMatrix residual_out, make("residual_out", padding.residual_out));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer workspace,
                           DeviceBuffer::Make(session, "workspace", workspace_bytes));
  return LaunchBuffers(std::move(x), std::move(y), std::move(residual), std::move(residual_out),
                       std::move(workspace));
}

absl::Status LaunchBuffers::InitWorkspaceByHand() const {
  FUSEBOX_RETURN_IF_ERROR(workspace_.FillRange(0, kWorkspaceHeaderBytes, 0));
  return PoisonPartials();
}

absl::Status LaunchBuffers::PoisonPartials() const {
  return workspace_.FillRange(kWorkspaceHeaderBytes, workspace_.bytes() - kWorkspaceHeaderBytes,
                              kNanByte);
}

fusebox_ffn_args LaunchBuffers::Args(int64_t tokens, ResidualMode mode) const {
  fusebox_ffn_args args = api::FfnArgs();
  args.tokens = static_cast<int32_t>(tokens);
  args.x = x_.buffer().as<void>();
  args.x_stride = x_.stride();
  if (TakesResidual(mode)) {
    args.residual = residual_.buffer().as<void>();
    args.residual_stride = residual_.stride();
  }
  if (mode == ResidualMode::kAddBeforeNorm) {
    args.residual_out = residual_out_.buffer().as<void>();
    args.residual_out_stride = residual_out_.stride();
  }
  args.y = y_.buffer().as<void>();
  args.y_stride = y_.stride();
  args.workspace = workspace_.as<void>();
  args.workspace_bytes = workspace_.bytes();
  return args;
}

fusebox_ffn_args LaunchBuffers::ArgsInPlace(int64_t tokens) const {
  fusebox_ffn_args args = Args(tokens, ResidualMode::kAddBeforeNorm);
  args.residual_out = residual_.buffer().as<void>();
  args.residual_out_stride = residual_.stride();
  return args;
}

absl::StatusOr<std::vector<uint16_t>> LaunchBuffers::TakeOutput(int64_t tokens) const {
  for (const DeviceBuffer* buffer :
       {&x_.buffer(), &residual_.buffer(), &residual_out_.buffer(), &workspace_}) {
    FUSEBOX_RETURN_IF_ERROR(buffer->CheckGuards());
  }
  FUSEBOX_RETURN_IF_ERROR(CheckWorkspaceHeader());
  return y_.TakeRows(tokens);
}

absl::Status LaunchBuffers::CheckWorkspaceHeader() const {
  std::vector<uint32_t> header(kWorkspaceHeaderBytes / sizeof(uint32_t));
  FUSEBOX_RETURN_IF_ERROR(workspace_.Download(header.data(), 0, kWorkspaceHeaderBytes));
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == 0) continue;
    return absl::InternalError(
        absl::StrCat("word ", i, " of the workspace is ", header[i], " after the launch, not 0"));
  }
  return absl::OkStatus();
}

}  // namespace fusebox
