// Conversions and approximate functions, one instruction each.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

// Two fp32 to bf16x2, round to nearest even; `low` in bits 0..15 (PTX ISA 9.7.9.21, cvt).
__device__ __forceinline__ u32 PackBf16(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ float Bf16ToFloat(u16 value) {
  return __uint_as_float(static_cast<u32>(value) << 16);
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

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_CONVERT_CUH_
