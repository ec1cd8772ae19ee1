#include "runtime/tools/ffn_layer.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr size_t kElementBytes = 2;

MatrixView Packed(const DeviceBuffer& buffer, int64_t first_row, int64_t rows, int64_t columns) {
  return {.data = buffer.as<uint16_t>() + first_row * columns,
          .rows = rows,
          .columns = columns,
          .row_stride = columns};
}

}  // namespace

absl::StatusOr<FfnLayer> FfnLayer::Make(const GpuSession& session, const MeasureKernels& kernels,
                                        const FfnProblem& problem, uint32_t seed) {
  const int64_t hidden = problem.hidden.value();
  const int64_t intermediate = problem.intermediate.value();
  const int64_t up_rows = problem.num_up_matrices() * intermediate;
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer up, DeviceBuffer::Make(session, "gate_up",
                                          static_cast<size_t>(up_rows * hidden) * kElementBytes));
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer down,
      DeviceBuffer::Make(session, "down",
                         static_cast<size_t>(hidden * intermediate) * kElementBytes));
  // Variance of a uniform value up to a is a^2/3: these make the sums' variance about 1.6 and 1.
  const float up_limit = 2.2f / std::sqrt(static_cast<float>(hidden));
  const float down_limit = 3.5f / std::sqrt(static_cast<float>(intermediate));
  FUSEBOX_RETURN_IF_ERROR(
      kernels.FillUniform(Packed(up, 0, up_rows, hidden), up_limit, 2 * seed + 1));
  FUSEBOX_RETURN_IF_ERROR(
      kernels.FillUniform(Packed(down, 0, hidden, intermediate), down_limit, 2 * seed + 2));
  FUSEBOX_RETURN_IF_ERROR(session.Synchronize());
  return FfnLayer(problem, std::move(up), std::move(down));
}

fusebox_ffn_weights FfnLayer::weights() const {
  fusebox_ffn_weights weights = api::FfnWeights();
  if (problem_.form == FfnForm::kGated) {
    weights.gate_up = up_.as<void>();
  } else {
    weights.up = up_.as<void>();
  }
  weights.down = down_.as<void>();
  return weights;
}

FfnOperandViews FfnLayer::views() const {
  const int64_t hidden = problem_.hidden.value();
  const int64_t intermediate = problem_.intermediate.value();
  FfnOperandViews views;
  views.up = Packed(up_, 0, intermediate, hidden);
  if (problem_.form == FfnForm::kGated) {
    views.gate = views.up;
    views.up = Packed(up_, intermediate, intermediate, hidden);
  }
  views.down = Packed(down_, 0, hidden, intermediate);
  return views;
}

fusebox_ffn_desc DescOf(const FfnProblem& problem) {
  fusebox_ffn_desc desc = api::FfnDesc();
  desc.hidden = problem.hidden.value();
  desc.intermediate = problem.intermediate.value();
  desc.dtype = FUSEBOX_DTYPE_BF16;
  desc.activation = static_cast<fusebox_activation>(problem.activation);
  desc.gated = problem.form == FfnForm::kGated ? 1 : 0;
  desc.residual_mode = static_cast<fusebox_residual_mode>(problem.residual_mode);
  return desc;
}

static_assert(static_cast<int>(Activation::kSilu) == FUSEBOX_ACTIVATION_SILU &&
                  static_cast<int>(Activation::kGeluErf) == FUSEBOX_ACTIVATION_GELU_ERF &&
                  static_cast<int>(Activation::kRelu) == FUSEBOX_ACTIVATION_RELU &&
                  static_cast<int>(ResidualMode::kAddAfter) == FUSEBOX_RESIDUAL_ADD_AFTER,
              "DescOf casts: the enums must have the API's numbers");

absl::Status ApiStatus(fusebox_status code) {
  if (code == FUSEBOX_OK) return absl::OkStatus();
  const std::string message = fusebox_last_error_message();
  switch (code) {
    case FUSEBOX_DECLINED:
      return absl::UnimplementedError(message);
    case FUSEBOX_NOT_READY:
      return absl::UnavailableError(message);
    case FUSEBOX_INVALID_ARGUMENT:
      return absl::InvalidArgumentError(message);
    case FUSEBOX_UNAVAILABLE:
      return absl::FailedPreconditionError(message);
    case FUSEBOX_OUT_OF_MEMORY:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(absl::StrCat(fusebox_status_string(code), ": ", message));
  }
}

}  // namespace fusebox
