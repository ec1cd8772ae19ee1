// The two matrix phases of the ffn kernel, as one consumer warpgroup runs them: weights are wgmma's
// M operand (tiles of 64 rows), tokens its N. One slot's instructions stay in flight while the next
// slot's are issued; a slot is freed when its group has finished.
#ifndef FUSEBOX_KERNELS_TEMPLATES_MMA_FFN_PHASES_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_MMA_FFN_PHASES_CUH_

#include "kernels_templates/copy/ffn_producers.cuh"
#include "kernels_templates/ptx/wgmma.cuh"

namespace fusebox {

// Consumer's place in a ring: the slot to read next, and the one before it, still being read by the
// tensor cores.
template <typename RingType, int kSlots>
struct RingReader {
  RingType ring;
  RingCursor<kSlots> cursor;

  template <typename Plan>
  __device__ __forceinline__ u32 WaitFull(SpinSite site, u32* report) {
    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);
    return ring.Slot(cursor.index);
  }
  // Lane 0 of each consumer warp frees a slot.
  __device__ __forceinline__ void Release(u32 index) const {
    if (threadIdx.x % kWarpThreads == 0) ptx::MbarrierArrive(ring.Empty(index));
  }
  __device__ __forceinline__ u32 Previous() const {
    return cursor.index == 0 ? kSlots - 1 : cursor.index - 1;
  }
};

template <typename Plan>
using WeightReader = RingReader<WeightRing<Plan>, Plan::kRingSlots>;
template <typename Plan>
using ActivationReader = RingReader<ActivationRing<Plan>, Plan::kActivationSlots>;

template <typename Plan>
struct UpAccumulators {
  // [matrix: gate, up (plain: up alone)][tile][fragment]
  float values[FfnSmem<Plan>::kUpMatrices][FfnSmem<Plan>::kUpTiles][Plan::kTokenTile / 2];
};

template <typename Plan>
struct DownAccumulators {
  float values[FfnSmem<Plan>::kDownTiles][Plan::kTokenTile / 2];
};

// A warpgroup dealt a tile past the last repeats the last one and its result is dropped: a branch
// around wgmma would make ptxas serialise the whole pipeline (C7520).
__device__ __forceinline__ u32 RealTile(u32 tile, u32 num_tiles) {
  return tile < num_tiles ? tile : num_tiles - 1;
}

// Phase 1. `row_group` owns tiles row_group, row_group + kRowWarpgroups, ...; `k_group` owns every
// kUpKWarpgroups-th k16 step.
template <typename Plan>
__device__ __forceinline__ void RunUpPhase(UpAccumulators<Plan>& sums, WeightReader<Plan>& weights,
                                           ActivationReader<Plan>& activations, u32 row_group,
                                           u32 k_group, u32* report) {
  using Smem = FfnSmem<Plan>;
  constexpr int kSlots = CeilDiv(Plan::kHidden, Plan::kUpKPerSlot);
  constexpr int kSteps = Plan::kUpKPerSlot / kWgmmaK / Plan::kUpKWarpgroups;
  for (int slot = 0; slot < kSlots; ++slot) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    const u32 activation_slot =
        activations.template WaitFull<Plan>(SpinSite::kActivationFull, report);
    Jitter<Plan>();
    ptx::WgmmaFence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const u32 step = k_group + i * Plan::kUpKWarpgroups;
      const u32 box = step / (kBoxK / kWgmmaK);
      const u32 in_box =
          step % (kBoxK / kWgmmaK) * (kWgmmaK * 2);  // bytes along k inside the swizzled row
      const u64 b =
          ptx::DescribeSwizzled128(activation_slot + box * Smem::kActivationBoxBytes + in_box);
#pragma unroll
      for (int tile = 0; tile < Smem::kUpTiles; ++tile) {
        const u32 tile_index = RealTile(row_group + tile * Smem::kRowWarpgroups, Smem::kUpRowTiles);
#pragma unroll
        for (int matrix = 0; matrix < Smem::kUpMatrices; ++matrix) {
          const u64 a = ptx::DescribeSwizzled128(
              weight_slot + (box * Smem::kUpMatrices + matrix) * Smem::kUpBoxBytes +
              tile_index * (kWgmmaRows * kBoxRowBytes) + in_box);
          ptx::Wgmma<Plan::kDType, Plan::kTokenTile>(sums.values[matrix][tile], a, b,
                                                     slot + i != 0);
        }
      }
    }
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (slot > 0) {
      weights.Release(weights.Previous());
      activations.Release(activations.Previous());
    }
    weights.cursor.Advance();
    activations.cursor.Advance();
  }
  ptx::WgmmaWait<0>();
  weights.Release(weights.Previous());
  activations.Release(activations.Previous());
}

// One slot of phase 2: kSteps k16 steps from column `column` of the chunk.
template <typename Plan, int kSteps>
__device__ __forceinline__ void IssueDownSlot(DownAccumulators<Plan>& sums, u32 weight_slot,
                                              u32 intermediate, int column, u32 warpgroup) {
  using Smem = FfnSmem<Plan>;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const u32 box = step / (kBoxK / kWgmmaK);
    const u32 in_box = step % (kBoxK / kWgmmaK) * (kWgmmaK * 2);
    const u64 b = ptx::DescribeCoreMatrices(
        intermediate + (column / 8 + step * 2) * Smem::kGranuleBytes, Smem::kGranuleBytes);
#pragma unroll
    for (int tile = 0; tile < Smem::kDownTiles; ++tile) {
      const u32 tile_index =
          RealTile(warpgroup + tile * Plan::kConsumerWarpgroups, Smem::kDownRowTiles);
      const u64 a = ptx::DescribeSwizzled128(weight_slot + box * Smem::kDownBoxBytes +
                                             tile_index * (kWgmmaRows * kBoxRowBytes) + in_box);
      ptx::Wgmma<Plan::kDType, Plan::kTokenTile>(sums.values[tile], a, b, column + step != 0);
    }
  }
}

// Phase 2, one pass: rows_per_pass output rows over the cluster's chunk of h.
template <typename Plan>
__device__ __forceinline__ void RunDownPass(DownAccumulators<Plan>& sums,
                                            WeightReader<Plan>& weights, u32 intermediate,
                                            u32 warpgroup, u32* report) {
  using Smem = FfnSmem<Plan>;
  constexpr int kFullSlots = Smem::kChunkRows / Plan::kDownKPerSlot;
  constexpr int kLastSteps = (Smem::kChunkRows - kFullSlots * Plan::kDownKPerSlot) / kWgmmaK;
  for (int slot = 0; slot < kFullSlots; ++slot) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    Jitter<Plan>();
    ptx::WgmmaFence();
    IssueDownSlot<Plan, Plan::kDownKPerSlot / kWgmmaK>(sums, weight_slot, intermediate,
                                                       slot * Plan::kDownKPerSlot, warpgroup);
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (slot > 0) weights.Release(weights.Previous());
    weights.cursor.Advance();
  }
  if constexpr (kLastSteps > 0) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    ptx::WgmmaFence();
    IssueDownSlot<Plan, kLastSteps>(sums, weight_slot, intermediate,
                                    kFullSlots * Plan::kDownKPerSlot, warpgroup);
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (kFullSlots > 0) weights.Release(weights.Previous());
    weights.cursor.Advance();
  }
  ptx::WgmmaWait<0>();
  weights.Release(weights.Previous());
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_MMA_FFN_PHASES_CUH_
