// DeviceReference computes an ffn with the slow oracle of kernels_templates/kernels/
// ffn_reference.cuh: each y in fp64, and the bound on a kernel's distance from it. Held against the
// fp64 oracle of tests/reference by a GPU test. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/launch/tensor_map.h"
#include "runtime/tools/tool_module.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

// Device vectors, packed; null where the op has none.
struct FfnVectorViews {
  const uint16_t* gate_bias = nullptr;  // [intermediate]
  const uint16_t* up_bias = nullptr;    // [intermediate]
  const uint16_t* down_bias = nullptr;  // [hidden]
  const uint16_t* norm_weight = nullptr;
  const uint16_t* norm_bias = nullptr;
  const uint16_t* second_norm_weight = nullptr;
  float eps = 0;
};

// Device matrices. `gate` is empty for a plain ffn; `residual` is read in the modes add_before_norm
// and add_after.
struct FfnOperandViews {
  MatrixView gate;
  MatrixView up;
  MatrixView down;
  FfnVectorViews vectors;
  MatrixView x;  // rows: the tokens
  MatrixView residual;
};

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
  DeviceReference(const GpuSession* session, const FfnProblem& problem, ToolModule tool_module)
      : session_(session), problem_(problem), module_(std::move(tool_module)) {}
  // One block for each of [rows, tokens].
  template <size_t kCount>
  absl::Status Run(const char* entry, int64_t rows, int64_t tokens,
                   void* const (&parameters)[kCount]) const;

  const GpuSession* session_;
  FfnProblem problem_;
  ToolModule module_;
};

struct BoundComparison {
  double worst_ratio = 0;  // largest distance over its bound; above 1: wrong
  int64_t num_wrong = 0;
  std::string first_wrong;  // a sentence; empty when all are right
};

// `y` is [tokens, hidden], bits of the dtype. A NaN is wrong.
BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden);
// Empty, or the first element of `sums` that is not bit for bit the expectation's.
std::string DifferenceOfSums(const DeviceExpectation& expected, absl::Span<const uint16_t> sums,
                             int64_t hidden);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_
