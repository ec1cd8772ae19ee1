// h = bf16(act(gate) * up), written to this CTA's slice of the cluster's chunk in shared memory.
// Layout of the chunk: granules of 8 columns; a granule is token_tile rows of 16 bytes (wgmma core
// matrices without swizzle), so every CTA's slice is contiguous and can be pushed whole.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_

#include "kernels_templates/epilogue/activation.cuh"
#include "kernels_templates/mma/ffn_phases.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"

namespace fusebox {

template <typename Plan>
__device__ __forceinline__ float IntermediateValue(const UpAccumulators<Plan>& sums, int tile,
                                                   int element) {
  const float first = Activate<Plan::kActivation>(sums.values[0][tile][element]);
  if constexpr (Plan::kGated) return first * sums.values[1][tile][element];
  return first;
}

// `slice` is the shared address of this CTA's first granule.
template <typename Plan>
__device__ __forceinline__ void StoreIntermediate(const UpAccumulators<Plan>& sums, u32 slice,
                                                  u32 row_group) {
  using Smem = FfnSmem<Plan>;
  const u32 warp = threadIdx.x % kWarpgroupThreads / kWarpThreads;
  const u32 lane = threadIdx.x % kWarpThreads;
#pragma unroll
  for (int tile = 0; tile < Smem::kUpTiles; ++tile) {
    const u32 row = (row_group + tile * Smem::kRowWarpgroups) * kWgmmaRows +
                    warp * 16;  // first of the warp's 16 rows
    if (row >= Plan::kUpRowsPerCta) continue;
    const bool both = row + 8 < Plan::kUpRowsPerCta;  // the lower 8 rows exist too
#pragma unroll
    for (int block = 0; block < Plan::kTokenTile / 8; ++block) {
      const u32 upper = ptx::PackBf16(IntermediateValue(sums, tile, 4 * block),
                                      IntermediateValue(sums, tile, 4 * block + 1));
      const u32 lower = ptx::PackBf16(IntermediateValue(sums, tile, 4 * block + 2),
                                      IntermediateValue(sums, tile, 4 * block + 3));
      // Lanes 0..7 address the tokens of the upper granule, lanes 8..15 those of the lower one.
      const u32 address = slice + (row / 8 + (both ? lane / 8 % 2 : 0)) * Smem::kGranuleBytes +
                          (block * 8 + lane % 8) * 16;
      if (both) {
        ptx::StoreMatrixTransposed(address, upper, lower);
      } else {
        ptx::StoreMatrixTransposed(address, upper);
      }
    }
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_
