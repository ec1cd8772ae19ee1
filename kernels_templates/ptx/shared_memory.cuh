// Shared-memory addresses, vector accesses, transposing stores, named barriers and the proxy fence.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_SHARED_MEMORY_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_SHARED_MEMORY_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

__device__ __forceinline__ u32 SharedAddress(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void StoreShared(u32 address, Float4 value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ Float4 LoadShared(u32 address) {
  Float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// To a peer's shared memory (address from MapToPeer).
__device__ __forceinline__ void StoreSharedCluster(u32 address, Float4 value) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ void StoreSharedFloat(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

__device__ __forceinline__ float LoadSharedFloat(u32 address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// Stores 8x8 matrices of 16-bit elements transposed: the row addresses of matrix i come from lanes
// 8i..8i+7 (PTX ISA 9.7.14.5.16, stmatrix).
__device__ __forceinline__ void StoreMatrixTransposed(u32 row_address, u32 matrix) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row_address),
               "r"(matrix)
               : "memory");
}
__device__ __forceinline__ void StoreMatrixTransposed(u32 row_address, u32 matrix0, u32 matrix1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row_address),
               "r"(matrix0), "r"(matrix1)
               : "memory");
}

// The same without transposing.
__device__ __forceinline__ void StoreMatrix(u32 row_address, u32 matrix0, u32 matrix1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row_address),
               "r"(matrix0), "r"(matrix1)
               : "memory");
}

// Threads of a group meet at barrier `id` (1..15; 0 is __syncthreads). Orders their shared-memory
// accesses. The instruction wants its warp whole, which a loop before it may have split.
__device__ __forceinline__ void NamedBarrier(u32 id, u32 threads) {
  __syncwarp();
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// This thread's earlier generic stores to shared memory become visible to the async proxy (TMA,
// wgmma), once a barrier has ordered them (PTX ISA 9.7.13.4, fence.proxy.async).
__device__ __forceinline__ void FenceProxyAsyncShared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The same for stores to global memory that TMA reads.
__device__ __forceinline__ void FenceProxyAsync() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_SHARED_MEMORY_CUH_
