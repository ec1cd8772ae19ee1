// LaunchBuffers are what one ffn launch reads and writes beside the weights: x, residual, y,
// residual_out and the workspace, with poison and guards, so that a read of what nobody wrote or a
// write outside [tokens, hidden] shows. Invariant: every element that a test did not fill is the
// NaN kNanBits. REQUIRES: the session outlives it. Not thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_LAUNCH_BUFFERS_H_
#define FUSEBOX_RUNTIME_TOOLS_LAUNCH_BUFFERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/launch/tensor_map.h"
#include "runtime/tools/device_buffer.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

constexpr uint16_t kNanBits = 0xffff;

// A [32, columns] matrix of tokens with `padding` elements between its rows, full of NaN.
class TokenMatrix {
 public:
  static absl::StatusOr<TokenMatrix> Make(const GpuSession& session, const char* name, DType dtype,
                                          int64_t columns, int64_t padding);

  const DeviceBuffer& buffer() const { return buffer_; }
  int64_t stride() const { return stride_; }
  MatrixView View(int64_t tokens) const;
  absl::Status Poison() const;
  // `values` is [tokens, columns], dense; rows at and beyond are left.
  absl::Status UploadRows(const std::vector<uint16_t>& values, int64_t tokens) const;
  // [tokens, columns], dense. Internal where an element outside is not NaN any more.
  absl::StatusOr<std::vector<uint16_t>> TakeRows(int64_t tokens) const;

 private:
  TokenMatrix(const char* name, DeviceBuffer buffer, DType dtype, int64_t columns, int64_t stride)
      : name_(name),
        buffer_(std::move(buffer)),
        dtype_(dtype),
        columns_(columns),
        stride_(stride) {}

  const char* name_;
  DeviceBuffer buffer_;
  DType dtype_;
  int64_t columns_;
  int64_t stride_;
};

struct RowPadding {  // elements, multiples of 8
  int64_t x = 0;
  int64_t y = 0;
  int64_t residual = 0;
  int64_t residual_out = 0;
};

class LaunchBuffers {
 public:
  // The workspace is not initialised: fusebox_workspace_init or InitWorkspaceByHand does.
  static absl::StatusOr<LaunchBuffers> Make(const GpuSession& session, const FfnProblem& problem,
                                            size_t workspace_bytes, const RowPadding& padding = {});

  const TokenMatrix& x() const { return x_; }
  const TokenMatrix& y() const { return y_; }
  const TokenMatrix& residual() const { return residual_; }
  const TokenMatrix& residual_out() const { return residual_out_; }
  const DeviceBuffer& workspace() const { return workspace_; }

  absl::Status InitWorkspaceByHand() const;  // for kernels that are not an engine's
  // The workspace but its report and counters: partial sums, normalised rows, sums, outputs.
  absl::Status PoisonPartials() const;
  // Mode add_before_norm: residual_out is a buffer of its own, or, in place, residual.
  fusebox_ffn_args Args(int64_t tokens, ResidualMode mode) const;
  fusebox_ffn_args ArgsInPlace(int64_t tokens) const;

  // y's rows, once guards, the workspace's report and counters, and what lies outside
  // [tokens, hidden] were found as they should be; Internal with a sentence otherwise.
  absl::StatusOr<std::vector<uint16_t>> TakeOutput(int64_t tokens) const;
  // Report and counters, which must be zero between launches.
  absl::Status CheckWorkspaceHeader() const;

 private:
  LaunchBuffers(TokenMatrix x, TokenMatrix y, TokenMatrix residual, TokenMatrix residual_out,
                DeviceBuffer workspace)
      : x_(std::move(x)),
        y_(std::move(y)),
        residual_(std::move(residual)),
        residual_out_(std::move(residual_out)),
        workspace_(std::move(workspace)) {}

  TokenMatrix x_;
  TokenMatrix y_;
  TokenMatrix residual_;
  TokenMatrix residual_out_;
  DeviceBuffer workspace_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_LAUNCH_BUFFERS_H_
