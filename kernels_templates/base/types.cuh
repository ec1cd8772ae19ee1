// Fixed-width names for device code; no toolkit header may be included.
#ifndef FUSEBOX_KERNELS_TEMPLATES_BASE_TYPES_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_BASE_TYPES_CUH_

namespace fusebox {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr int kWarpThreads = 32;
constexpr int kWarpgroupThreads = 128;
constexpr int kFragmentBytes = 16;  // what one thread holds of a 64 x 8 accumulator block

__device__ constexpr int CeilDiv(int value, int divisor) { return (value + divisor - 1) / divisor; }
__device__ constexpr int RoundUp(int value, int multiple) {
  return CeilDiv(value, multiple) * multiple;
}
__device__ constexpr int Min(int a, int b) { return a < b ? a : b; }
__device__ constexpr int Max(int a, int b) { return a > b ? a : b; }

// Four fp32 as one 16-byte register vector.
struct alignas(16) Float4 {
  float x, y, z, w;
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_BASE_TYPES_CUH_
