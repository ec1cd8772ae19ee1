// Adds the phase-1 sums of warpgroups that split k: groups 1.. leave theirs in shared memory, group
// 0 adds them in order. Ordering: generic stores, then a named barrier of all consumer threads (id
// kKGroupBarrier), then generic loads.
#ifndef FUSEBOX_KERNELS_TEMPLATES_MMA_K_GROUP_SUM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_MMA_K_GROUP_SUM_CUH_

#include "kernels_templates/mma/ffn_phases.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"

namespace fusebox {

constexpr u32 kKGroupBarrier = 1;  // named barrier: all consumer threads, once

template <typename Plan>
__device__ __forceinline__ void SumOverKGroups(UpAccumulators<Plan>& sums, u32 exchange,
                                               u32 row_group, u32 k_group) {
  if constexpr (Plan::kUpKWarpgroups > 1) {
    using Smem = FfnSmem<Plan>;
    constexpr int kBlocks = Plan::kTokenTile / 8;
    constexpr int kFragments = Smem::kUpMatrices * Smem::kUpTiles * kBlocks;  // of one thread
    const u32 thread = threadIdx.x % kWarpgroupThreads;
    const auto address = [&](u32 group, int fragment) {
      const u32 owner = (group - 1) * Smem::kRowWarpgroups + row_group;
      return exchange +
             ((owner * kFragments + fragment) * kWarpgroupThreads + thread) * kFragmentBytes;
    };
    if (k_group > 0) {
#pragma unroll
      for (int f = 0; f < kFragments; ++f) {
        const float* v = &sums.values[f / (Smem::kUpTiles * kBlocks)][f / kBlocks % Smem::kUpTiles]
                                     [f % kBlocks * 4];
        ptx::StoreShared(address(k_group, f), {v[0], v[1], v[2], v[3]});
      }
    }
    ptx::NamedBarrier(kKGroupBarrier, Plan::kConsumerWarpgroups * kWarpgroupThreads);
    if (k_group == 0) {
#pragma unroll
      for (int group = 1; group < Plan::kUpKWarpgroups; ++group) {
#pragma unroll
        for (int f = 0; f < kFragments; ++f) {
          float* v = &sums.values[f / (Smem::kUpTiles * kBlocks)][f / kBlocks % Smem::kUpTiles]
                                 [f % kBlocks * 4];
          const Float4 other = ptx::LoadShared(address(group, f));
          v[0] += other.x;
          v[1] += other.y;
          v[2] += other.z;
          v[3] += other.w;
        }
      }
    }
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_MMA_K_GROUP_SUM_CUH_
