// MeasureKernels launches kernels_templates/kernels/measure.cuh: random operands, the read-only
// stream that shows the memory roof, and a foreign neighbour. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_MEASURE_KERNELS_H_
#define FUSEBOX_RUNTIME_TOOLS_MEASURE_KERNELS_H_

#include <cuda.h>

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/launch/tensor_map.h"
#include "runtime/tools/tool_module.h"

namespace fusebox {

class MeasureKernels {
 public:
  static absl::StatusOr<MeasureKernels> Load(GpuSession& session);

  // Uniform in (-limit, limit), of the matrix's dtype; padding between rows stays as it is.
  // Asynchronous.
  absl::Status FillUniform(const MatrixView& matrix, float limit, uint32_t seed) const;
  // Multiplies `count` values in place. Launched without PDL and triggering nothing.
  absl::Status Scale(DType dtype, CUdeviceptr values, int64_t count, CUstream stream) const;
  // Reads bytes once, rounded down to chunks, with one CTA an SM. Asynchronous.
  absl::Status ReadStream(CUdeviceptr from, int64_t bytes, CUstream stream) const;

 private:
  MeasureKernels(const GpuSession* session, ToolModule tool_module)
      : session_(session), module_(std::move(tool_module)) {}

  const GpuSession* session_;
  ToolModule module_;
  std::array<CUfunction, 2> fill_ = {};   // bf16, fp16
  std::array<CUfunction, 2> scale_ = {};  // bf16, fp16
  CUfunction read_ = nullptr;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_MEASURE_KERNELS_H_
