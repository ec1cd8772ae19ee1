// DeviceReference computes an ffn with the slow oracle on the device and brings to the host each y
// in fp64, and the bound on a kernel's distance from it. Held against the fp64 oracle of
// tests/reference by a GPU test. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/launch/ffn_operands.h"
#include "runtime/launch/reference_kernels.h"
#include "runtime/tools/gpu_session.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct DeviceExpectation {
  DType dtype = DType::kBf16;
  std::vector<double> y;          // [tokens, hidden], not rounded
  std::vector<double> tolerance;  // [tokens, hidden]
  std::vector<uint16_t> sums;     // [tokens, hidden], mode add_before_norm: x + residual, exactly
};

class DeviceReference {
 public:
  static absl::StatusOr<DeviceReference> Load(GpuSession& session, const FfnProblem& problem);

  absl::StatusOr<DeviceExpectation> Compute(const FfnOperandViews& operands) const;

 private:
  DeviceReference(const GpuSession* session, const FfnProblem& problem,
                  std::unique_ptr<const ReferenceKernels> kernels)
      : session_(session), problem_(problem), kernels_(std::move(kernels)) {}

  const GpuSession* session_;
  FfnProblem problem_;
  std::unique_ptr<const ReferenceKernels> kernels_;
};

struct BoundComparison {
  double worst_ratio = 0;  // largest distance over its bound; above 1: wrong
  int64_t num_wrong = 0;
  std::string first_wrong;  // a sentence; empty when all are right
};

// `y` is [tokens, hidden], bits of the dtype: all tokens of the expectation, or its first ones. A
// NaN is wrong.
BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden);
// Empty, or the first element of `sums` that is not bit for bit the expectation's; as above.
std::string DifferenceOfSums(const DeviceExpectation& expected, absl::Span<const uint16_t> sums,
                             int64_t hidden);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_
