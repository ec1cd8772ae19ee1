// Small kernels that verify and bench need beside the ones they judge: random operands, a read-only
// stream that shows what the memory gives, and a foreign neighbour.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_MEASURE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_MEASURE_CUH_

#include "kernels_templates/base/types.cuh"
#include "kernels_templates/ptx/bulk_load.cuh"
#include "kernels_templates/ptx/convert.cuh"
#include "kernels_templates/ptx/mbarrier.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"

namespace fusebox {

// The finalizer of MurmurHash3, over index and seed.
__device__ inline u32 HashOf(u64 index, u32 seed) {
  u32 hash =
      static_cast<u32>(index) * 0x9e3779b1u ^ static_cast<u32>(index >> 32) * 0x85ebca77u ^ seed;
  hash ^= hash >> 16;
  hash *= 0x85ebca6bu;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

// Uniform in (-limit, limit): value k of a row-major matrix depends on k and the seed alone.
// Padding between rows stays.
template <DType kDType>
__device__ void FillUniform(u16* values, i64 rows, i64 columns, i64 row_stride, float limit,
                            u32 seed) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 index = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; index < rows * columns;
       index += step) {
    const float unit = static_cast<float>(HashOf(index, seed) >> 8) * 0x1.0p-23f - 1.0f;
    values[index / columns * row_stride + index % columns] = ptx::Narrow<kDType>(unit * limit);
  }
}

// Reads `bytes` once, by one thread a CTA: chunk i goes to CTA i % gridDim.x. bytes % kChunkBytes
// == 0.
constexpr int kStreamSlots = 6;  // 192 KiB in flight a CTA: beyond 128 KiB an H200 gives no more
constexpr u32 kStreamChunkBytes = 32768;

__device__ inline void ReadStream(const unsigned char* data, u64 bytes, u64* sink) {
  extern __shared__ unsigned char stream_smem[];
  if (threadIdx.x != 0) return;
  const u32 slots = (ptx::SharedAddress(stream_smem) + 127) & ~127u;
  const u32 barriers = slots + kStreamSlots * kStreamChunkBytes;
  for (u32 slot = 0; slot < kStreamSlots; ++slot) ptx::MbarrierInit(barriers + slot * 8, 1);
  ptx::FenceMbarrierInit();
  const u64 chunks = bytes / kStreamChunkBytes;
  const u64 mine = blockIdx.x < chunks ? (chunks - blockIdx.x - 1) / gridDim.x + 1 : 0;
  u32 slot = 0;
  u32 parity = 0;
  for (u64 i = 0; i < mine + kStreamSlots; ++i) {
    const u32 barrier = barriers + slot * 8;
    if (i >= kStreamSlots &&
        i - kStreamSlots < mine) {  // the chunk that was asked for one round ago
      while (!ptx::MbarrierTryWait(barrier, parity ^ 1)) {
      }
    }
    if (i < mine) {
      ptx::MbarrierArriveExpectTx(barrier, kStreamChunkBytes);
      ptx::BulkLoad(slots + slot * kStreamChunkBytes,
                    data + (blockIdx.x + i * gridDim.x) * kStreamChunkBytes, kStreamChunkBytes,
                    barrier);
    }
    if (++slot == kStreamSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
  if (mine > chunks) *sink = mine;  // never: keeps the loop
}

// What an engine may run between two fused ops: reads and writes every element, knows nothing of
// PDL.
template <DType kDType>
__device__ void ScaleInPlace(u16* values, i64 count, float factor) {
  const i64 index = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
  if (index < count)
    values[index] = ptx::Narrow<kDType>(ptx::Widen<kDType>(values[index]) * factor);
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_MEASURE_CUH_
