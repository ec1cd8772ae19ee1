#include "runtime/launch/tensor_map.h"

namespace fusebox {
namespace {

constexpr uint32_t kBoxColumns = 64;  // 128 bytes: the span of the 128-byte swizzle
constexpr uint64_t kBytesPerElement = 2;

CUtensorMapDataType DataType(DType dtype) {
  return dtype == DType::kFp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

// The driver aligns its own type to 128 bytes since CUDA 13, but the hardware asks for 64 only.
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap), "TensorMap must hold a CUtensorMap");

}  // namespace

CUresult EncodeTensorMap(const DriverApi& api, const MatrixView& matrix, int box_rows,
                         TensorMap* map) {
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(matrix.columns),
                               static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(matrix.row_stride) * kBytesPerElement};
  const cuuint32_t box[2] = {kBoxColumns, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t element_strides[2] = {1, 1};
  CUtensorMap encoded;
  const CUresult result = api.TensorMapEncodeTiled(
      &encoded, DataType(matrix.dtype), 2, const_cast<void*>(matrix.data), sizes, strides, box,
      element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) __builtin_memcpy(map, &encoded, sizeof(encoded));
  return result;
}

}  // namespace fusebox
