// Adds the sums of warpgroups that split a phase's k: groups 1.. leave theirs in shared memory,
// group 0 adds them in order. Ordering: generic stores, then a named barrier of all consumer
// threads (id kKGroupBarrier), then generic loads; where the space is used again, the same barrier
// before.
#ifndef FUSEBOX_KERNELS_TEMPLATES_MMA_K_GROUP_SUM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_MMA_K_GROUP_SUM_CUH_

#include "kernels_templates/mma/phase_pass.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"

namespace fusebox {

constexpr u32 kKGroupBarrier = 1;  // named barrier: all consumer threads

template <typename Plan, typename Phase>
__device__ __forceinline__ void SumOverKGroups(Accumulators<Phase>& sums, u32 exchange,
                                               WarpgroupShare share) {
  if constexpr (Phase::kKWarpgroups > 1) {
    constexpr u32 kThreads = Plan::kConsumerWarpgroups * kWarpgroupThreads;
    constexpr int kBlocks = Phase::kBlocks;
    constexpr int kFragments = Phase::kMatrices * Phase::kTiles * kBlocks;  // of one thread
    const u32 thread = threadIdx.x % kWarpgroupThreads;
    const auto address = [&](u32 group, int fragment) {
      const u32 owner = (group - 1) * Phase::kRowWarpgroups + share.row_group;
      return exchange +
             ((owner * kFragments + fragment) * kWarpgroupThreads + thread) * kFragmentBytes;
    };
    const auto values = [&](int fragment) {
      return &sums.values[fragment / kBlocks % Phase::kTiles][fragment / (Phase::kTiles * kBlocks)]
                         [fragment % kBlocks * 4];
    };
    // Grid gather sums more than once; what was left before has been read by all.
    if constexpr (Plan::kEdge == Edge::kGridGather) ptx::NamedBarrier(kKGroupBarrier, kThreads);
    if (share.k_group > 0) {
#pragma unroll
      for (int f = 0; f < kFragments; ++f) {
        const float* v = values(f);
        ptx::StoreShared(address(share.k_group, f), {v[0], v[1], v[2], v[3]});
      }
    }
    ptx::NamedBarrier(kKGroupBarrier, kThreads);
    if (share.k_group == 0) {
#pragma unroll
      for (int group = 1; group < Phase::kKWarpgroups; ++group) {
#pragma unroll
        for (int f = 0; f < kFragments; ++f) {
          float* v = values(f);
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
