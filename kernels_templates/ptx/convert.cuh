// Conversions and approximate functions, one instruction each.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_

#include "kernels_templates/base/dtype.cuh"
#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

// Two fp32 to bf16x2, round to nearest even; `low` in bits 0..15 (PTX ISA 9.7.9.21, cvt).
__device__ __forceinline__ u32 PackBf16(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Two fp32 to fp16x2, round to nearest even; `low` in bits 0..15. Beyond 65504 infinite.
__device__ __forceinline__ u32 PackFp16(float low, float high) {
  u32 packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ float Fp16ToFloat(u16 value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
  return wide;
}

template <DType kDType>
__device__ __forceinline__ u32 Pack(float low, float high) {
  return kDType == DType::kBf16 ? PackBf16(low, high) : PackFp16(low, high);
}

template <DType kDType>
__device__ __forceinline__ u16 Narrow(float value) {
  return static_cast<u16>(Pack<kDType>(value, 0.0f));
}

template <DType kDType>
__device__ __forceinline__ float Widen(u16 value) {
  if constexpr (kDType == DType::kFp16) return Fp16ToFloat(value);
  return __uint_as_float(static_cast<u32>(value) << 16);
}

// The nearest value of the dtype.
template <DType kDType>
__device__ __forceinline__ float Round(float value) {
  return Widen<kDType>(Narrow<kDType>(value));
}

// 2^x, at most 2 ulp (PTX ISA 9.7.3.21, ex2.approx).
__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1/x, at most 1 ulp (PTX ISA 9.7.3.14, rcp.approx).
__device__ __forceinline__ float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1/sqrt(x), correctly rounded square root and division, as engines compute it.
__device__ __forceinline__ float ReciprocalSquareRoot(float x) { return __frcp_rn(__fsqrt_rn(x)); }

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_
