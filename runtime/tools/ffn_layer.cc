#include "runtime/tools/ffn_layer.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr size_t kElementBytes = 2;

// Outputs first .. first + outputs of a packed matrix of all_outputs.
struct PackedPart {
  int64_t first;
  int64_t outputs;
  int64_t all_outputs;
  int64_t inputs;
};

MatrixView ViewOf(const DeviceBuffer& buffer, const FfnProblem& problem, const PackedPart& part) {
  const bool by_rows = problem.layout == WeightLayout::kOutIn;
  const int64_t row_stride = by_rows ? part.inputs : part.all_outputs;
  return {.data = buffer.as<uint16_t>() + part.first * (by_rows ? row_stride : 1),
          .rows = by_rows ? part.outputs : part.inputs,
          .columns = by_rows ? part.inputs : part.outputs,
          .row_stride = row_stride,
          .dtype = problem.dtype};
}

// Elements of the vectors' buffer up to the bias of down.
int64_t UpBiasElements(const FfnProblem& problem) {
  return problem.num_up_matrices() * problem.intermediate.value();
}

// Every vector, whether the op has it or not: variants then have the same weights.
absl::StatusOr<DeviceBuffer> MakeVectors(const GpuSession& session, const MeasureKernels& kernels,
                                         const FfnProblem& problem, uint32_t seed) {
  const int64_t hidden = problem.hidden.value();
  // Biases move sums of order 1 a little; a norm's weights have variance 1, or 1 + w about that.
  const struct {
    int64_t elements;
    float limit;
  } parts[] = {{UpBiasElements(problem), 0.5f},
               {hidden, 0.5f},
               {hidden, problem.norm == Norm::kRmsPlusOne ? 0.5f : 1.7f},
               {hidden, 0.3f},
               {hidden, problem.norm == Norm::kRmsPlusOne ? 0.5f : 1.7f}};
  int64_t elements = 0;
  for (const auto& part : parts) elements += part.elements;
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer vectors,
      DeviceBuffer::Make(session, "vectors", static_cast<size_t>(elements) * kElementBytes));
  int64_t first = 0;
  for (const auto& part : parts) {
    const MatrixView view = {.data = vectors.as<uint16_t>() + first,
                             .rows = 1,
                             .columns = part.elements,
                             .row_stride = part.elements,
                             .dtype = problem.dtype};
    FUSEBOX_RETURN_IF_ERROR(
        kernels.FillUniform(view, part.limit, 31 * seed + static_cast<uint32_t>(first)));
    first += part.elements;
  }
  return vectors;
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
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer vectors, MakeVectors(session, kernels, problem, seed));
  // Variance of a uniform value up to a is a^2/3: these make the sums' variance about 1.6 and 1.
  const float up_limit = 2.2f / std::sqrt(static_cast<float>(hidden));
  const float down_limit = 3.5f / std::sqrt(static_cast<float>(intermediate));
  FUSEBOX_RETURN_IF_ERROR(kernels.FillUniform(ViewOf(up, problem, {0, up_rows, up_rows, hidden}),
                                              up_limit, 2 * seed + 1));
  FUSEBOX_RETURN_IF_ERROR(kernels.FillUniform(
      ViewOf(down, problem, {0, hidden, hidden, intermediate}), down_limit, 2 * seed + 2));
  FUSEBOX_RETURN_IF_ERROR(session.Synchronize());
  return FfnLayer(problem, std::move(up), std::move(down), std::move(vectors));
}

FfnVectorViews FfnLayer::vectors() const {
  const int64_t hidden = problem_.hidden.value();
  const bool is_gated = problem_.form == FfnForm::kGated;
  const bool has_norm = problem_.norm != Norm::kNone;
  const uint16_t* const up_bias = vectors_.as<uint16_t>();
  const uint16_t* const down_bias = up_bias + UpBiasElements(problem_);
  FfnVectorViews views = {.eps = has_norm ? kNormEps : 0.0f};
  if (problem_.up_bias) {
    if (is_gated) views.gate_bias = up_bias;
    views.up_bias = up_bias + (is_gated ? problem_.intermediate.value() : 0);
  }
  if (problem_.down_bias) views.down_bias = down_bias;
  if (has_norm) views.norm_weight = down_bias + hidden;
  if (problem_.norm == Norm::kLayer) views.norm_bias = down_bias + 2 * hidden;
  if (problem_.residual_mode == ResidualMode::kSandwich) {
    views.second_norm_weight = down_bias + 3 * hidden;
  }
  return views;
}

fusebox_ffn_weights FfnLayer::weights() const {
  const FfnVectorViews views = vectors();
  fusebox_ffn_weights weights = api::FfnWeights();
  if (problem_.form == FfnForm::kGated) {
    weights.gate_up = up_.as<void>();
    weights.gate_up_bias = views.gate_bias;
  } else {
    weights.up = up_.as<void>();
    weights.up_bias = views.up_bias;
  }
  weights.down = down_.as<void>();
  weights.down_bias = views.down_bias;
  weights.norm_weight = views.norm_weight;
  weights.norm_bias = views.norm_bias;
  weights.second_norm_weight = views.second_norm_weight;
  weights.eps = static_cast<double>(views.eps);
  return weights;
}

FfnOperandViews FfnLayer::views() const {
  const int64_t hidden = problem_.hidden.value();
  const int64_t intermediate = problem_.intermediate.value();
  FfnOperandViews views;
  const bool is_gated = problem_.form == FfnForm::kGated;
  const int64_t up_outputs = problem_.num_up_matrices() * intermediate;
  const auto part_from = [&](int64_t first) {
    return ViewOf(up_, problem_, {first, intermediate, up_outputs, hidden});
  };
  views.up = part_from(is_gated ? intermediate : 0);
  if (is_gated) views.gate = part_from(0);
  views.down = ViewOf(down_, problem_, {0, hidden, hidden, intermediate});
  views.vectors = vectors();
  return views;
}

fusebox_ffn_desc DescOf(const FfnProblem& problem) {
  fusebox_ffn_desc desc = api::FfnDesc();
  desc.hidden = problem.hidden.value();
  desc.intermediate = problem.intermediate.value();
  desc.dtype = static_cast<fusebox_dtype>(problem.dtype);
  desc.activation = static_cast<fusebox_activation>(problem.activation);
  desc.gated = problem.form == FfnForm::kGated ? 1 : 0;
  desc.biases =
      (problem.up_bias ? FUSEBOX_BIAS_UP : 0) | (problem.down_bias ? FUSEBOX_BIAS_DOWN : 0);
  desc.layout = static_cast<fusebox_layout>(problem.layout);
  desc.norm = static_cast<fusebox_norm>(problem.norm);
  desc.residual_mode = static_cast<fusebox_residual_mode>(problem.residual_mode);
  return desc;
}

static_assert(static_cast<int>(DType::kFp16) == FUSEBOX_DTYPE_FP16 &&
                  static_cast<int>(Activation::kReluSquared) == FUSEBOX_ACTIVATION_RELU_SQUARED &&
                  static_cast<int>(Norm::kLayer) == FUSEBOX_NORM_LAYER &&
                  static_cast<int>(ResidualMode::kSandwich) == FUSEBOX_RESIDUAL_SANDWICH,
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
