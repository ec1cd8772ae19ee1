// Global-memory accesses that other CTAs observe: relaxed at GPU scope (PTX ISA 8, memory consistency model; each 32-bit
// word is one access). They go to L2, never to a stale L1 line.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

struct alignas(16) Words4 {
  u32 x, y, z, w;
};

__device__ __forceinline__ Words4 LoadRelaxed(const Words4* pointer) {
  Words4 value;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(pointer)
               : "memory");
  return value;
}

__device__ __forceinline__ void StoreRelaxed(Words4* pointer, Words4 value) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ __forceinline__ u32 LoadRelaxed(const u32* pointer) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(pointer) : "memory");
  return value;
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_
