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

// Device matrices, bf16. `gate` is empty for a plain ffn, `residual` without one.
struct FfnOperandViews {
  MatrixView gate;
  MatrixView up;
  MatrixView down;
  MatrixView x;  // rows: the tokens
  MatrixView residual;
};

struct DeviceExpectation {
  std::vector<double> y;          // [tokens, hidden], not rounded
  std::vector<double> tolerance;  // [tokens, hidden]
};

class DeviceReference {
 public:
  static absl::StatusOr<DeviceReference> Load(GpuSession& session, const FfnProblem& problem);

  absl::StatusOr<DeviceExpectation> Compute(const FfnOperandViews& operands) const;

 private:
  DeviceReference(const GpuSession* session, const FfnProblem& problem, ToolModule tool_module)
      : session_(session), problem_(problem), module_(std::move(tool_module)) {}

  const GpuSession* session_;
  FfnProblem problem_;
  ToolModule module_;
};

struct BoundComparison {
  double worst_ratio = 0;  // largest distance over its bound; above 1: wrong
  int64_t num_wrong = 0;
  std::string first_wrong;  // a sentence; empty when all are right
};

// `y` is [tokens, hidden] bf16 bits. A NaN is wrong.
BoundComparison CompareWithin(const DeviceExpectation& expected, absl::Span<const uint16_t> y,
                              int64_t hidden);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_REFERENCE_H_
