// Warpgroup matrix multiply-accumulate, 16-bit in, fp32 out, both operands in shared memory (PTX
// ISA 9.7.15). Accumulator fragment of m64nNk16: thread t of the warpgroup (warp w = t / 32, lane l
// = t % 32) holds, for each block j of 8 columns, d[4j], d[4j+1] = row 16w + l/4, columns 8j +
// 2(l%4) + {0, 1}, and d[4j+2], d[4j+3] = the same 8 rows below.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_

#include "kernels_templates/base/dtype.cuh"
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

// Matrix descriptor under 128-byte swizzle: lines of 128 bytes, groups of 8 lines 1024 bytes apart.
// K-major operand: a line is 64 k elements of a row; `address` may point at any of the four 32-byte
// k16 steps inside the first line. Row-major: a line is a k of 64 rows; a k16 step is 16 lines.
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

// What is contiguous in operand A: k, or the rows.
enum class AMajor { kK = 0, kRows = 1 };

// d = a * b + (accumulate ? d : 0). kColumns is wgmma's N: the token tile.
template <DType kDType, int kColumns, AMajor kAMajor>
__device__ void Wgmma(float (&d)[kColumns / 2], u64 a, u64 b, u32 accumulate);

// One definition of it. REGISTERS names the accumulators %0 ..., A, B and P the operands after
// them; MAJOR is A's, TRANSPOSE the same as the instruction says it.
#define FUSEBOX_WGMMA_ONE(DTYPE, TYPES, MAJOR, TRANSPOSE, COLUMNS, REGISTERS, A, B, P, ...)    \
  template <>                                                                                  \
  __device__ __forceinline__ void Wgmma<DTYPE, COLUMNS, MAJOR>(float(&d)[COLUMNS / 2], u64 a,  \
                                                               u64 b, u32 accumulate) {        \
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, " P                                       \
                 ", 0;\n"                                                                      \
                 " wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32." TYPES " {" REGISTERS \
                 "}, " A ", " B ", p, 1, 1, " TRANSPOSE ", 0;\n}"                              \
                 : __VA_ARGS__                                                                 \
                 : "l"(a), "l"(b), "r"(accumulate));                                           \
  }
#define FUSEBOX_WGMMA(DTYPE, TYPES, ...)                        \
  FUSEBOX_WGMMA_ONE(DTYPE, TYPES, AMajor::kK, "0", __VA_ARGS__) \
  FUSEBOX_WGMMA_ONE(DTYPE, TYPES, AMajor::kRows, "1", __VA_ARGS__)

#define FUSEBOX_WGMMA_8(DTYPE, TYPES)                                                        \
  FUSEBOX_WGMMA(DTYPE, TYPES, 8, "%0, %1, %2, %3", "%4", "%5", "%6", "+f"(d[0]), "+f"(d[1]), \
                "+f"(d[2]), "+f"(d[3]))
FUSEBOX_WGMMA_8(DType::kBf16, "bf16.bf16")
FUSEBOX_WGMMA_8(DType::kFp16, "f16.f16")
#undef FUSEBOX_WGMMA_8

#define FUSEBOX_WGMMA_16(DTYPE, TYPES)                                                             \
  FUSEBOX_WGMMA(DTYPE, TYPES, 16, "%0, %1, %2, %3, %4, %5, %6, %7", "%8", "%9", "%10", "+f"(d[0]), \
                "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),            \
                "+f"(d[7]))
FUSEBOX_WGMMA_16(DType::kBf16, "bf16.bf16")
FUSEBOX_WGMMA_16(DType::kFp16, "f16.f16")
#undef FUSEBOX_WGMMA_16

#define FUSEBOX_WGMMA_32(DTYPE, TYPES)                                                         \
  FUSEBOX_WGMMA(DTYPE, TYPES, 32,                                                              \
                "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15", "%16", \
                "%17", "%18", "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),      \
                "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),       \
                "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]))
FUSEBOX_WGMMA_32(DType::kBf16, "bf16.bf16")
FUSEBOX_WGMMA_32(DType::kFp16, "f16.f16")
#undef FUSEBOX_WGMMA_32

#define FUSEBOX_WGMMA_64(DTYPE, TYPES)                                                            \
  FUSEBOX_WGMMA(DTYPE, TYPES, 64,                                                                 \
                "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
                "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31", \
                "%32", "%33", "%34", "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),  \
                "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),          \
                "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),     \
                "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),     \
                "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),     \
                "+f"(d[29]), "+f"(d[30]), "+f"(d[31]))
FUSEBOX_WGMMA_64(DType::kBf16, "bf16.bf16")
FUSEBOX_WGMMA_64(DType::kFp16, "f16.f16")
#undef FUSEBOX_WGMMA_64

#define FUSEBOX_WGMMA_128(DTYPE, TYPES)                                                            \
  FUSEBOX_WGMMA(DTYPE, TYPES, 128,                                                                 \
                "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
                "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
                "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
                "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63",  \
                "%64", "%65", "%66", "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),   \
                "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),           \
                "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),      \
                "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),      \
                "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),      \
                "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),      \
                "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),      \
                "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]),      \
                "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]),      \
                "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]),      \
                "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]))
FUSEBOX_WGMMA_128(DType::kBf16, "bf16.bf16")
FUSEBOX_WGMMA_128(DType::kFp16, "f16.f16")
#undef FUSEBOX_WGMMA_128

#undef FUSEBOX_WGMMA
#undef FUSEBOX_WGMMA_ONE

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_
