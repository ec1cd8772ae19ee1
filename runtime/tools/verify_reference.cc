#include "runtime/tools/verify_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/tools/device_buffer.h"
#include "src/base/bf16.h"
#include "src/base/check.h"
#include "src/base/status.h"
#include "src/source/emit_reference.h"

namespace fusebox {
namespace {

constexpr int kWarpThreads = 32;

// As `struct ReferenceMatrix` of the template.
struct ReferenceMatrix {
  const void* values;
  int64_t row_stride;
};

ReferenceMatrix MatrixOf(const MatrixView& view) {
  return {.values = view.data, .row_stride = view.row_stride};
}

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
  const auto make = [&](const char* name, int64_t columns) {
    return DeviceBuffer::Make(*session_, name,
                              static_cast<size_t>(tokens * columns) * sizeof(double));
  };
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer h, make("reference h", intermediate));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer h_error, make("reference h_error", intermediate));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer y, make("reference y", hidden));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer tolerance, make("reference tolerance", hidden));
  ReferenceMatrix gate = MatrixOf(operands.gate);
  ReferenceMatrix up = MatrixOf(operands.up);
  ReferenceMatrix down = MatrixOf(operands.down);
  ReferenceMatrix x = MatrixOf(operands.x);
  ReferenceMatrix residual = MatrixOf(operands.residual);
  CUdeviceptr h_at = h.address();
  CUdeviceptr h_error_at = h_error.address();
  CUdeviceptr y_at = y.address();
  CUdeviceptr tolerance_at = tolerance.address();

  FUSEBOX_ASSIGN_OR_RETURN(const CUfunction first, module_.Find(kReferenceIntermediateEntry));
  FUSEBOX_ASSIGN_OR_RETURN(const CUfunction second, module_.Find(kReferenceOutputEntry));
  void* const first_parameters[] = {&gate, &up, &x, &hidden, &h_at, &h_error_at};
  FUSEBOX_RETURN_IF_ERROR(module_.Launch(first,
                                         {.x = intermediate, .y = tokens, .threads = kWarpThreads},
                                         first_parameters, session_->stream()));
  void* const second_parameters[] = {&down,       &residual, &intermediate, &h_at,
                                     &h_error_at, &y_at,     &tolerance_at};
  FUSEBOX_RETURN_IF_ERROR(module_.Launch(second,
                                         {.x = hidden, .y = tokens, .threads = kWarpThreads},
                                         second_parameters, session_->stream()));
  FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
  DeviceExpectation expected;
  FUSEBOX_ASSIGN_OR_RETURN(expected.y, y.DownloadAll<double>());
  FUSEBOX_ASSIGN_OR_RETURN(expected.tolerance, tolerance.DownloadAll<double>());
  return expected;
}

BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden) {
  FUSEBOX_CHECK(y.size() == expected.y.size(), "y and its expectation have one size");
  BoundComparison comparison;
  for (size_t i = 0; i < y.size(); ++i) {
    const auto got = static_cast<double>(Bf16ToFloat(y[i]));
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

}  // namespace fusebox
