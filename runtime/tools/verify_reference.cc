#include "runtime/tools/verify_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/tools/device_buffer.h"
#include "src/base/check.h"
#include "src/base/status.h"
#include "src/shape/element.h"
#include "src/source/emit_reference.h"

namespace fusebox {
namespace {

constexpr int kWarpThreads = 32;

// As the structs of that name in kernels_templates/kernels/ffn_reference.cuh.
struct ReferenceMatrix {
  const void* values;
  int64_t row_stride;
};
struct ReferenceVectors {
  const uint16_t* gate_bias;
  const uint16_t* up_bias;
  const uint16_t* down_bias;
  const uint16_t* norm_weight;
  const uint16_t* norm_bias;
  const uint16_t* second_norm_weight;
  double eps;
};
struct ReferenceRows {
  double* values;
  double* errors;
};

ReferenceMatrix MatrixOf(const MatrixView& view) {
  return {.values = view.data, .row_stride = view.row_stride};
}

ReferenceVectors VectorsOf(const FfnVectorViews& views) {
  return {.gate_bias = views.gate_bias,
          .up_bias = views.up_bias,
          .down_bias = views.down_bias,
          .norm_weight = views.norm_weight,
          .norm_bias = views.norm_bias,
          .second_norm_weight = views.second_norm_weight,
          .eps = static_cast<double>(views.eps)};
}

// [tokens, columns] values and their bounds.
struct RowsBuffers {
  DeviceBuffer values;
  DeviceBuffer errors;

  static absl::StatusOr<RowsBuffers> Make(const GpuSession& session, int64_t elements) {
    const size_t bytes = static_cast<size_t>(elements) * sizeof(double);
    FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer values,
                             DeviceBuffer::Make(session, "reference values", bytes));
    FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer errors,
                             DeviceBuffer::Make(session, "reference errors", bytes));
    return RowsBuffers{.values = std::move(values), .errors = std::move(errors)};
  }
  ReferenceRows rows() const {
    return {.values = values.as<double>(), .errors = errors.as<double>()};
  }
};

}  // namespace

absl::StatusOr<DeviceReference> DeviceReference::Load(GpuSession& session,
                                                      const FfnProblem& problem) {
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source,
                           EmitReference(problem, TemplateSet::Embedded()));
  FUSEBOX_ASSIGN_OR_RETURN(ToolModule tool_module, ToolModule::Load(session, source));
  return DeviceReference(&session, problem, std::move(tool_module));
}

absl::StatusOr<DeviceExpectation> DeviceReference::Compute(const FfnOperandViews& operands) const {
  const int64_t tokens = operands.x.rows;
  int64_t hidden = problem_.hidden.value();
  int64_t intermediate = problem_.intermediate.value();
  FUSEBOX_ASSIGN_OR_RETURN(const RowsBuffers input, RowsBuffers::Make(*session_, tokens * hidden));
  FUSEBOX_ASSIGN_OR_RETURN(const RowsBuffers h,
                           RowsBuffers::Make(*session_, tokens * intermediate));
  FUSEBOX_ASSIGN_OR_RETURN(const RowsBuffers y, RowsBuffers::Make(*session_, tokens * hidden));
  FUSEBOX_ASSIGN_OR_RETURN(
      const DeviceBuffer sums,
      DeviceBuffer::Make(*session_, "reference sums",
                         static_cast<size_t>(tokens * hidden) * sizeof(uint16_t)));
  ReferenceMatrix gate = MatrixOf(operands.gate);
  ReferenceMatrix up = MatrixOf(operands.up);
  ReferenceMatrix down = MatrixOf(operands.down);
  ReferenceMatrix x = MatrixOf(operands.x);
  ReferenceMatrix residual = MatrixOf(operands.residual);
  ReferenceVectors vectors = VectorsOf(operands.vectors);
  ReferenceRows input_rows = input.rows();
  ReferenceRows h_rows = h.rows();
  ReferenceRows y_rows = y.rows();
  CUdeviceptr sums_at = sums.address();

  void* const rows_parameters[] = {&x, &residual, &vectors, &hidden, &input_rows, &sums_at};
  FUSEBOX_RETURN_IF_ERROR(Run(kReferenceRowsEntry, 1, tokens, rows_parameters));
  void* const up_parameters[] = {&gate, &up, &vectors, &hidden, &input_rows, &h_rows};
  FUSEBOX_RETURN_IF_ERROR(Run(kReferenceIntermediateEntry, intermediate, tokens, up_parameters));
  void* const down_parameters[] = {&down, &residual, &vectors, &intermediate, &h_rows, &y_rows};
  FUSEBOX_RETURN_IF_ERROR(Run(kReferenceOutputEntry, hidden, tokens, down_parameters));
  if (problem_.residual_mode == ResidualMode::kSandwich) {
    void* const norm_parameters[] = {&x, &vectors, &hidden, &y_rows};
    FUSEBOX_RETURN_IF_ERROR(Run(kReferenceSecondNormEntry, 1, tokens, norm_parameters));
  }
  FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());

  DeviceExpectation expected = {.dtype = problem_.dtype};
  FUSEBOX_ASSIGN_OR_RETURN(expected.y, y.values.DownloadAll<double>());
  FUSEBOX_ASSIGN_OR_RETURN(expected.tolerance, y.errors.DownloadAll<double>());
  if (problem_.residual_mode == ResidualMode::kAddBeforeNorm) {
    FUSEBOX_ASSIGN_OR_RETURN(expected.sums, sums.DownloadAll<uint16_t>());
  }
  return expected;
}

template <size_t kCount>
absl::Status DeviceReference::Run(const char* entry, int64_t rows, int64_t tokens,
                                  void* const (&parameters)[kCount]) const {
  FUSEBOX_ASSIGN_OR_RETURN(const CUfunction function, module_.Find(entry));
  return module_.Launch(function, {.x = rows, .y = tokens, .threads = kWarpThreads}, parameters,
                        session_->stream());
}

BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden) {
  FUSEBOX_CHECK(y.size() == expected.y.size(), "y and its expectation have one size");
  BoundComparison comparison;
  for (size_t i = 0; i < y.size(); ++i) {
    const auto got = static_cast<double>(ElementToFloat(expected.dtype, y[i]));
    const double distance = std::abs(got - expected.y[i]);
    const double tolerance = expected.tolerance[i];
    if (distance > 0) {
      comparison.worst_ratio = std::max(comparison.worst_ratio, distance / tolerance);
    }
    if (distance <= tolerance) continue;  // not so for NaN
    if (comparison.num_wrong++ == 0) {
      const auto index = static_cast<int64_t>(i);
      comparison.first_wrong =
          absl::StrFormat("y[token %d, %d] is %.9g, expected %.9g within %.3g", index / hidden,
                          index % hidden, got, expected.y[i], tolerance);
    }
  }
  return comparison;
}

std::string DifferenceOfSums(const DeviceExpectation& expected, absl::Span<const uint16_t> sums,
                             int64_t hidden) {
  FUSEBOX_CHECK(sums.size() == expected.sums.size(),
                "the sums and their expectation have one size");
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == expected.sums[i]) continue;
    const auto index = static_cast<int64_t>(i);
    return absl::StrFormat("residual_out[token %d, %d] is %.9g, expected %.9g", index / hidden,
                           index % hidden, ElementToFloat(expected.dtype, sums[i]),
                           ElementToFloat(expected.dtype, expected.sums[i]));
  }
  return "";
}

}  // namespace fusebox
