// EncodeTensorMap describes a row-major bf16 or fp16 matrix to the TMA unit, as
// kernels_templates/abi/kernel_params.h asks for: boxes of 64 columns, 128-byte swizzle, L2
// promotion 128 B (256 B costs 9 % of bandwidth), zero fill out of bounds. Allocates nothing and
// needs no context; used at bind for weights and at every launch for x. Thread-safe.
#ifndef FUSEBOX_RUNTIME_LAUNCH_TENSOR_MAP_H_
#define FUSEBOX_RUNTIME_LAUNCH_TENSOR_MAP_H_

#include <cuda.h>

#include <cstdint>

#include "kernels_templates/abi/kernel_params.h"
#include "runtime/driver/driver_api.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

// What TMA asks of a matrix.
constexpr uintptr_t kMatrixAlignment = 16;                 // bytes
constexpr int64_t kRowPitchElements = 8;                   // 16 bytes
constexpr int64_t kMaxRowStride = (int64_t{1} << 39) - 8;  // elements: below 2^40 bytes

struct MatrixView {
  const void* data = nullptr;  // device memory, aligned to kMatrixAlignment
  int64_t rows = 0;            // at least 1
  int64_t columns = 0;         // elements, contiguous
  int64_t row_stride = 0;      // elements, multiple of kRowPitchElements, at least `columns`
  DType dtype = DType::kBf16;
};

CUresult EncodeTensorMap(const DriverApi& api, const MatrixView& matrix, int box_rows,
                         TensorMap* map);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_TENSOR_MAP_H_
