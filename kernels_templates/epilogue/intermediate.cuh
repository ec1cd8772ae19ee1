// h = act(gate) * up, rounded to the dtype, written to this CTA's slice in shared memory. Layout:
// granules of 8 columns of h; a granule is token_tile rows of 16 bytes (wgmma core matrices without
// swizzle), so every CTA's slice is contiguous and can be handed on whole.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_

#include "kernels_templates/epilogue/activation.cuh"
#include "kernels_templates/mma/phase_pass.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"

namespace fusebox {

template <typename Plan>
__device__ __forceinline__ float RoundAsEngine(float value) {
  return Plan::kRounding == Rounding::kEngine ? ptx::Round<Plan::kDType>(value) : value;
}

template <typename Plan>
using UpSums = Accumulators<UpPhase<Plan>>;

// The biases of a row of gate (plain: of up) and of up; 0 where the op has none or the row is none.
struct UpBiases {
  float first = 0.0f;
  float second = 0.0f;
};

template <typename Plan>
__device__ __forceinline__ UpBiases LoadUpBiases(const FfnParams& params, u32 row) {
  UpBiases biases;
  if constexpr (Plan::kUpBias) {
    if (row < Plan::kIntermediate) {
      biases.first =
          ptx::Widen<Plan::kDType>((Plan::kGated ? params.gate_bias : params.up_bias)[row]);
      if (Plan::kGated) biases.second = ptx::Widen<Plan::kDType>(params.up_bias[row]);
    }
  }
  return biases;
}

template <typename Plan>
__device__ __forceinline__ float IntermediateValue(const UpSums<Plan>& sums, int tile, int element,
                                                   const UpBiases& biases) {
  const float first =
      RoundAsEngine<Plan>(Activate<Plan::kActivation, Plan::kDType, Plan::kRounding>(
          RoundAsEngine<Plan>(sums.values[tile][0][element] + biases.first)));
  if constexpr (Plan::kGated)
    return first * RoundAsEngine<Plan>(sums.values[tile][1][element] + biases.second);
  return first;
}

// Tokens in wgmma's rows: a block is a granule's 8 columns, a warp's strip 16 of its tokens.
template <typename Plan>
__device__ __forceinline__ void StoreTokenStrips(const FfnParams& params, const UpSums<Plan>& sums,
                                                 u32 slice, u32 first_row, u32 token_group) {
  using Phase = UpPhase<Plan>;
  const u32 warp = threadIdx.x % kWarpgroupThreads / kWarpThreads;
  const u32 lane = threadIdx.x % kWarpThreads;
#pragma unroll
  for (int tile = 0; tile < Phase::kTiles; ++tile) {
    const u32 token = (token_group + tile * Phase::kRowWarpgroups) * kWgmmaRows + warp * 16;
#pragma unroll
    for (int block = 0; block < Phase::kBlocks; ++block) {
      const u32 row = first_row + block * 8 + lane % 4 * 2;
      const UpBiases even = LoadUpBiases<Plan>(params, row);
      const UpBiases odd = LoadUpBiases<Plan>(params, row + 1);
      const u32 upper =
          ptx::Pack<Plan::kDType>(IntermediateValue<Plan>(sums, tile, 4 * block, even),
                                  IntermediateValue<Plan>(sums, tile, 4 * block + 1, odd));
      const u32 lower =
          ptx::Pack<Plan::kDType>(IntermediateValue<Plan>(sums, tile, 4 * block + 2, even),
                                  IntermediateValue<Plan>(sums, tile, 4 * block + 3, odd));
      const u32 address = slice + block * FfnSmem<Plan>::kGranuleBytes + (token + lane % 16) * 16;
      ptx::StoreMatrix(address, upper, lower);
    }
  }
}

// Weights in wgmma's rows: a strip is 16 columns, two granules, and a block 8 of the tokens.
template <typename Plan>
__device__ __forceinline__ void StoreRowStrips(const FfnParams& params, const UpSums<Plan>& sums,
                                               u32 slice, u32 first_row, u32 row_group) {
  using Smem = FfnSmem<Plan>;
  using Phase = UpPhase<Plan>;
  const u32 warp = threadIdx.x % kWarpgroupThreads / kWarpThreads;
  const u32 lane = threadIdx.x % kWarpThreads;
#pragma unroll
  for (int tile = 0; tile < Phase::kTiles; ++tile) {
    // First of the warp's 16 rows.
    const u32 row = (row_group + tile * Phase::kRowWarpgroups) * kWgmmaRows + warp * 16;
    if (row >= Phase::kRowsPerPass) continue;
    const bool both = row + 8 < Phase::kRowsPerPass;  // the lower 8 rows exist too
    const UpBiases upper_biases = LoadUpBiases<Plan>(params, first_row + row + lane / 4);
    const UpBiases lower_biases = LoadUpBiases<Plan>(params, first_row + row + 8 + lane / 4);
#pragma unroll
    for (int block = 0; block < Plan::kTokenTile / 8; ++block) {
      const u32 upper =
          ptx::Pack<Plan::kDType>(IntermediateValue<Plan>(sums, tile, 4 * block, upper_biases),
                                  IntermediateValue<Plan>(sums, tile, 4 * block + 1, upper_biases));
      const u32 lower =
          ptx::Pack<Plan::kDType>(IntermediateValue<Plan>(sums, tile, 4 * block + 2, lower_biases),
                                  IntermediateValue<Plan>(sums, tile, 4 * block + 3, lower_biases));
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

// `slice` is the shared address of this CTA's first granule, `first_row` its intermediate row.
template <typename Plan>
__device__ __forceinline__ void StoreIntermediate(const FfnParams& params, const UpSums<Plan>& sums,
                                                  u32 slice, u32 first_row, u32 row_group) {
  if constexpr (UpPhase<Plan>::kTokensAreRows) {
    StoreTokenStrips<Plan>(params, sums, slice, first_row, row_group);
  } else {
    StoreRowStrips<Plan>(params, sums, slice, first_row, row_group);
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_INTERMEDIATE_CUH_
