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

// d = a * b + (accumulate ? d : 0). kColumns is wgmma's N. With A major in rows B is K-major still.
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
#define FUSEBOX_WGMMA(...)                                                      \
  FUSEBOX_WGMMA_ONE(DType::kBf16, "bf16.bf16", AMajor::kK, "0", __VA_ARGS__)    \
  FUSEBOX_WGMMA_ONE(DType::kBf16, "bf16.bf16", AMajor::kRows, "1", __VA_ARGS__) \
  FUSEBOX_WGMMA_ONE(DType::kFp16, "f16.f16", AMajor::kK, "0", __VA_ARGS__)      \
  FUSEBOX_WGMMA_ONE(DType::kFp16, "f16.f16", AMajor::kRows, "1", __VA_ARGS__)

// The accumulators of N columns, as the instruction's text names them and as operands: those of 8
// columns fewer, and four more.
#define FUSEBOX_R8 "%0, %1, %2, %3"
#define FUSEBOX_R16 FUSEBOX_R8 ", %4, %5, %6, %7"
#define FUSEBOX_R24 FUSEBOX_R16 ", %8, %9, %10, %11"
#define FUSEBOX_R32 FUSEBOX_R24 ", %12, %13, %14, %15"
#define FUSEBOX_R40 FUSEBOX_R32 ", %16, %17, %18, %19"
#define FUSEBOX_R48 FUSEBOX_R40 ", %20, %21, %22, %23"
#define FUSEBOX_R56 FUSEBOX_R48 ", %24, %25, %26, %27"
#define FUSEBOX_R64 FUSEBOX_R56 ", %28, %29, %30, %31"
#define FUSEBOX_R72 FUSEBOX_R64 ", %32, %33, %34, %35"
#define FUSEBOX_R80 FUSEBOX_R72 ", %36, %37, %38, %39"
#define FUSEBOX_R88 FUSEBOX_R80 ", %40, %41, %42, %43"
#define FUSEBOX_R96 FUSEBOX_R88 ", %44, %45, %46, %47"
#define FUSEBOX_R104 FUSEBOX_R96 ", %48, %49, %50, %51"
#define FUSEBOX_R112 FUSEBOX_R104 ", %52, %53, %54, %55"
#define FUSEBOX_R120 FUSEBOX_R112 ", %56, %57, %58, %59"
#define FUSEBOX_R128 FUSEBOX_R120 ", %60, %61, %62, %63"
#define FUSEBOX_R136 FUSEBOX_R128 ", %64, %65, %66, %67"
#define FUSEBOX_R144 FUSEBOX_R136 ", %68, %69, %70, %71"
#define FUSEBOX_R152 FUSEBOX_R144 ", %72, %73, %74, %75"
#define FUSEBOX_R160 FUSEBOX_R152 ", %76, %77, %78, %79"
#define FUSEBOX_R168 FUSEBOX_R160 ", %80, %81, %82, %83"
#define FUSEBOX_R176 FUSEBOX_R168 ", %84, %85, %86, %87"
#define FUSEBOX_R184 FUSEBOX_R176 ", %88, %89, %90, %91"
#define FUSEBOX_R192 FUSEBOX_R184 ", %92, %93, %94, %95"
#define FUSEBOX_R200 FUSEBOX_R192 ", %96, %97, %98, %99"
#define FUSEBOX_R208 FUSEBOX_R200 ", %100, %101, %102, %103"
#define FUSEBOX_R216 FUSEBOX_R208 ", %104, %105, %106, %107"
#define FUSEBOX_R224 FUSEBOX_R216 ", %108, %109, %110, %111"
#define FUSEBOX_R232 FUSEBOX_R224 ", %112, %113, %114, %115"
#define FUSEBOX_R240 FUSEBOX_R232 ", %116, %117, %118, %119"
#define FUSEBOX_R248 FUSEBOX_R240 ", %120, %121, %122, %123"
#define FUSEBOX_R256 FUSEBOX_R248 ", %124, %125, %126, %127"

#define FUSEBOX_D8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define FUSEBOX_D16 FUSEBOX_D8, "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define FUSEBOX_D24 FUSEBOX_D16, "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define FUSEBOX_D32 FUSEBOX_D24, "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define FUSEBOX_D40 FUSEBOX_D32, "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define FUSEBOX_D48 FUSEBOX_D40, "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define FUSEBOX_D56 FUSEBOX_D48, "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define FUSEBOX_D64 FUSEBOX_D56, "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define FUSEBOX_D72 FUSEBOX_D64, "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define FUSEBOX_D80 FUSEBOX_D72, "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define FUSEBOX_D88 FUSEBOX_D80, "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define FUSEBOX_D96 FUSEBOX_D88, "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define FUSEBOX_D104 FUSEBOX_D96, "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define FUSEBOX_D112 FUSEBOX_D104, "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define FUSEBOX_D120 FUSEBOX_D112, "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define FUSEBOX_D128 FUSEBOX_D120, "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define FUSEBOX_D136 FUSEBOX_D128, "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define FUSEBOX_D144 FUSEBOX_D136, "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define FUSEBOX_D152 FUSEBOX_D144, "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define FUSEBOX_D160 FUSEBOX_D152, "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define FUSEBOX_D168 FUSEBOX_D160, "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define FUSEBOX_D176 FUSEBOX_D168, "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define FUSEBOX_D184 FUSEBOX_D176, "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define FUSEBOX_D192 FUSEBOX_D184, "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define FUSEBOX_D200 FUSEBOX_D192, "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define FUSEBOX_D208 FUSEBOX_D200, "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define FUSEBOX_D216 FUSEBOX_D208, "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define FUSEBOX_D224 FUSEBOX_D216, "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define FUSEBOX_D232 FUSEBOX_D224, "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define FUSEBOX_D240 FUSEBOX_D232, "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define FUSEBOX_D248 FUSEBOX_D240, "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define FUSEBOX_D256 FUSEBOX_D248, "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

FUSEBOX_WGMMA(8, FUSEBOX_R8, "%4", "%5", "%6", FUSEBOX_D8)
FUSEBOX_WGMMA(16, FUSEBOX_R16, "%8", "%9", "%10", FUSEBOX_D16)
FUSEBOX_WGMMA(24, FUSEBOX_R24, "%12", "%13", "%14", FUSEBOX_D24)
FUSEBOX_WGMMA(32, FUSEBOX_R32, "%16", "%17", "%18", FUSEBOX_D32)
FUSEBOX_WGMMA(40, FUSEBOX_R40, "%20", "%21", "%22", FUSEBOX_D40)
FUSEBOX_WGMMA(48, FUSEBOX_R48, "%24", "%25", "%26", FUSEBOX_D48)
FUSEBOX_WGMMA(56, FUSEBOX_R56, "%28", "%29", "%30", FUSEBOX_D56)
FUSEBOX_WGMMA(64, FUSEBOX_R64, "%32", "%33", "%34", FUSEBOX_D64)
FUSEBOX_WGMMA(72, FUSEBOX_R72, "%36", "%37", "%38", FUSEBOX_D72)
FUSEBOX_WGMMA(80, FUSEBOX_R80, "%40", "%41", "%42", FUSEBOX_D80)
FUSEBOX_WGMMA(88, FUSEBOX_R88, "%44", "%45", "%46", FUSEBOX_D88)
FUSEBOX_WGMMA(96, FUSEBOX_R96, "%48", "%49", "%50", FUSEBOX_D96)
FUSEBOX_WGMMA(104, FUSEBOX_R104, "%52", "%53", "%54", FUSEBOX_D104)
FUSEBOX_WGMMA(112, FUSEBOX_R112, "%56", "%57", "%58", FUSEBOX_D112)
FUSEBOX_WGMMA(120, FUSEBOX_R120, "%60", "%61", "%62", FUSEBOX_D120)
FUSEBOX_WGMMA(128, FUSEBOX_R128, "%64", "%65", "%66", FUSEBOX_D128)
FUSEBOX_WGMMA(136, FUSEBOX_R136, "%68", "%69", "%70", FUSEBOX_D136)
FUSEBOX_WGMMA(144, FUSEBOX_R144, "%72", "%73", "%74", FUSEBOX_D144)
FUSEBOX_WGMMA(152, FUSEBOX_R152, "%76", "%77", "%78", FUSEBOX_D152)
FUSEBOX_WGMMA(160, FUSEBOX_R160, "%80", "%81", "%82", FUSEBOX_D160)
FUSEBOX_WGMMA(168, FUSEBOX_R168, "%84", "%85", "%86", FUSEBOX_D168)
FUSEBOX_WGMMA(176, FUSEBOX_R176, "%88", "%89", "%90", FUSEBOX_D176)
FUSEBOX_WGMMA(184, FUSEBOX_R184, "%92", "%93", "%94", FUSEBOX_D184)
FUSEBOX_WGMMA(192, FUSEBOX_R192, "%96", "%97", "%98", FUSEBOX_D192)
FUSEBOX_WGMMA(200, FUSEBOX_R200, "%100", "%101", "%102", FUSEBOX_D200)
FUSEBOX_WGMMA(208, FUSEBOX_R208, "%104", "%105", "%106", FUSEBOX_D208)
FUSEBOX_WGMMA(216, FUSEBOX_R216, "%108", "%109", "%110", FUSEBOX_D216)
FUSEBOX_WGMMA(224, FUSEBOX_R224, "%112", "%113", "%114", FUSEBOX_D224)
FUSEBOX_WGMMA(232, FUSEBOX_R232, "%116", "%117", "%118", FUSEBOX_D232)
FUSEBOX_WGMMA(240, FUSEBOX_R240, "%120", "%121", "%122", FUSEBOX_D240)
FUSEBOX_WGMMA(248, FUSEBOX_R248, "%124", "%125", "%126", FUSEBOX_D248)
FUSEBOX_WGMMA(256, FUSEBOX_R256, "%128", "%129", "%130", FUSEBOX_D256)

#undef FUSEBOX_R8
#undef FUSEBOX_D8
#undef FUSEBOX_R16
#undef FUSEBOX_D16
#undef FUSEBOX_R24
#undef FUSEBOX_D24
#undef FUSEBOX_R32
#undef FUSEBOX_D32
#undef FUSEBOX_R40
#undef FUSEBOX_D40
#undef FUSEBOX_R48
#undef FUSEBOX_D48
#undef FUSEBOX_R56
#undef FUSEBOX_D56
#undef FUSEBOX_R64
#undef FUSEBOX_D64
#undef FUSEBOX_R72
#undef FUSEBOX_D72
#undef FUSEBOX_R80
#undef FUSEBOX_D80
#undef FUSEBOX_R88
#undef FUSEBOX_D88
#undef FUSEBOX_R96
#undef FUSEBOX_D96
#undef FUSEBOX_R104
#undef FUSEBOX_D104
#undef FUSEBOX_R112
#undef FUSEBOX_D112
#undef FUSEBOX_R120
#undef FUSEBOX_D120
#undef FUSEBOX_R128
#undef FUSEBOX_D128
#undef FUSEBOX_R136
#undef FUSEBOX_D136
#undef FUSEBOX_R144
#undef FUSEBOX_D144
#undef FUSEBOX_R152
#undef FUSEBOX_D152
#undef FUSEBOX_R160
#undef FUSEBOX_D160
#undef FUSEBOX_R168
#undef FUSEBOX_D168
#undef FUSEBOX_R176
#undef FUSEBOX_D176
#undef FUSEBOX_R184
#undef FUSEBOX_D184
#undef FUSEBOX_R192
#undef FUSEBOX_D192
#undef FUSEBOX_R200
#undef FUSEBOX_D200
#undef FUSEBOX_R208
#undef FUSEBOX_D208
#undef FUSEBOX_R216
#undef FUSEBOX_D216
#undef FUSEBOX_R224
#undef FUSEBOX_D224
#undef FUSEBOX_R232
#undef FUSEBOX_D232
#undef FUSEBOX_R240
#undef FUSEBOX_D240
#undef FUSEBOX_R248
#undef FUSEBOX_D248
#undef FUSEBOX_R256
#undef FUSEBOX_D256
#undef FUSEBOX_WGMMA
#undef FUSEBOX_WGMMA_ONE

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_WGMMA_CUH_
