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

// The first elements of a matrix in the oracle's memory, on the host.
template <typename Element>
absl::StatusOr<std::vector<Element>> Download(const GpuSession& session, const Element* from,
                                              int64_t count) {
  std::vector<Element> values(static_cast<size_t>(count));
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().MemcpyDtoH(values.data(), reinterpret_cast<CUdeviceptr>(from),
                                             values.size() * sizeof(Element)),
                    "cuMemcpyDtoH"));
  return values;
}

}  // namespace

absl::StatusOr<DeviceReference> DeviceReference::Load(GpuSession& session,
                                                      const FfnProblem& problem) {
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source,
                           EmitReference(problem, TemplateSet::Embedded()));
  FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel served,
                           session.kernels().GetOrCompile(source, session.permission()));
  FUSEBOX_ASSIGN_OR_RETURN(std::unique_ptr<const ReferenceKernels> kernels,
                           ReferenceKernels::Load(session.context(), problem, *served.kernel));
  return DeviceReference(&session, problem, std::move(kernels));
}

absl::StatusOr<DeviceExpectation> DeviceReference::Compute(const FfnOperandViews& operands) const {
  const int64_t tokens = operands.x.rows;
  const int64_t outputs = tokens * problem_.hidden.value();
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                           DeviceBuffer::Make(*session_, "the oracle's memory",
                                              ReferenceMemory::BytesFor(problem_, tokens)));
  const ReferenceMemory memory = ReferenceMemory::At(buffer.address(), problem_, tokens);
  FUSEBOX_RETURN_IF_ERROR(session_->Check(kernels_->Compute(operands, memory, session_->stream()),
                                          "cuLaunchKernel(the oracle)"));
  FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
  DeviceExpectation expected = {.dtype = problem_.dtype};
  FUSEBOX_ASSIGN_OR_RETURN(expected.y, Download(*session_, memory.y.values, outputs));
  FUSEBOX_ASSIGN_OR_RETURN(expected.tolerance, Download(*session_, memory.y.errors, outputs));
  if (problem_.residual_mode == ResidualMode::kAddBeforeNorm) {
    FUSEBOX_ASSIGN_OR_RETURN(expected.sums, Download(*session_, memory.sums, outputs));
  }
  return expected;
}

BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden) {
  FUSEBOX_CHECK(y.size() <= expected.y.size(), "y is of the expectation's tokens");
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
  FUSEBOX_CHECK(sums.size() <= expected.sums.size(), "the sums are of the expectation's tokens");
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
