// Warpgroup matrix multiply-accumulate, bf16 in, fp32 out, both operands in shared memory (PTX
// ISA 9.7.15). Accumulator fragment of m64nNk16: thread t of the warpgroup (warp w = t / 32, lane l
// = t % 32) holds, for each block j of 8 columns, d[4j], d[4j+1] = row 16w + l/4, columns 8j +
// 2(l%4) + {0, 1}, and d[4j+2], d[4j+3] = the same 8 rows below.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending of this warp's committed groups are unfinished.
template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Matrix descriptor, K-major operand under 128-byte swizzle: rows of 128 bytes, groups of 8 rows
// 1024 bytes apart. `address` may point at any of the four 32-byte k16 steps inside the first row.
__device__ __forceinline__ u64 DescribeSwizzled128(u32 address) {
  return (static_cast<u64>(address & 0x3ffff) >> 4) | (1ull << 16) |
         (static_cast<u64>(1024 >> 4) << 32) | (1ull << 62);
}

// Matrix descriptor, K-major operand without swizzle: core matrices of 8 rows x 16 bytes, each 128
// contiguous bytes; `k_stride` bytes from one to the next along k, 128 bytes to the next along n.
__device__ __forceinline__ u64 DescribeCoreMatrices(u32 address, u32 k_stride) {
  return (static_cast<u64>(address & 0x3ffff) >> 4) | (static_cast<u64>(k_stride >> 4) << 16) |
         (static_cast<u64>(128 >> 4) << 32);
}

// d = a * b + (accumulate ? d : 0). kColumns is wgmma's N: the token tile.
template <int kColumns>
__device__ void Wgmma(float (&d)[kColumns / 2], u64 a, u64 b, u32 accumulate);

template <>
__device__ __forceinline__ void Wgmma<8>(float (&d)[4], u64 a, u64 b, u32 accumulate) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %6, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"
      " {%0, %1, %2, %3},"
      " %4, %5, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ __forceinline__ void Wgmma<16>(float (&d)[8], u64 a, u64 b, u32 accumulate) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %10, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"
      " {%0, %1, %2, %3, %4, %5, %6, %7},"
      " %8, %9, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7])
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ __forceinline__ void Wgmma<32>(float (&d)[16], u64 a, u64 b, u32 accumulate) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %18, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16"
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15},"
      " %16, %17, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b), "r"(accumulate));
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_
