// Global-memory accesses for data that CTAs hand to each other through L2, and the counter that
// orders them.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

// Sixteen bytes as words.
struct alignas(16) Words4 {
  u32 x, y, z, w;
};

__device__ __forceinline__ Words4 LoadWords(const void* pointer) {
  Words4 value;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(pointer)
               : "memory");
  return value;
}

__device__ __forceinline__ void StoreWords(void* pointer, Words4 value) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// Weak accesses that pass by L1 (PTX ISA 9.7.9.8 and 9.7.9.12, .cg): ordered by the counter below,
// read once.
__device__ __forceinline__ Float4 LoadThroughL2(const Float4* pointer) {
  Float4 value;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "l"(pointer)
               : "memory");
  return value;
}

__device__ __forceinline__ void StoreThroughL2(Float4* pointer, Float4 value) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

// A glance at a word that other CTAs change; orders nothing.
__device__ __forceinline__ u32 LoadRelaxed(const u32* pointer) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(pointer) : "memory");
  return value;
}

// A word that other CTAs release: what they wrote before is visible after (PTX ISA 9.7.9.8,
// ld.acquire).
__device__ __forceinline__ u32 LoadAcquire(const u32* pointer) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(pointer) : "memory");
  return value;
}

// Returns the value before. Earlier writes that this thread knows of are visible to whoever draws a
// later value, and theirs to us (PTX ISA 9.7.13.5, atom.acq_rel).
__device__ __forceinline__ u32 AddAcquireRelease(u32* pointer, u32 value) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(pointer), "r"(value)
               : "memory");
  return before;
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_GLOBAL_MEMORY_CUH_
