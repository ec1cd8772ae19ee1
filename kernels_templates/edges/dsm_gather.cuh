// Edge "dsm gather": each CTA's slice of h is pushed to every peer of the cluster, so that all hold
// the whole chunk.
//
// Memory-model rule: generic stores to own shared memory, then read by wgmma
// here and by bulk copies to peers: fence.proxy.async by each writing thread, then a barrier.
// Peers: waiting on the mbarrier that the copies complete suffices.
//
// Barriers, each one phase a launch:
// - arrived: 1 arrival at init with the peers' bytes expected, and 1 of each pushing warpgroup.
// - named kPushBarrier + row group: the 128 threads of the pushing warpgroup.
//
// Lifetime: the cluster barrier after Init comes before the first push; every consumer thread
// arrives at the cluster barrier after Wait, and nobody exits before it completes, so no CTA leaves
// while its slice is still being read.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_GATHER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_GATHER_CUH_

#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/ptx/bulk_copy.cuh"
#include "kernels_templates/ptx/cluster.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"
#include "kernels_templates/tile/ffn_smem.cuh"

namespace fusebox {

constexpr u32 kPushBarrier = 2;  // named barriers kPushBarrier .. + row warpgroups

template <typename Plan>
struct DsmGather {
  using Smem = FfnSmem<Plan>;
  using Phase = UpPhase<Plan>;
  static constexpr int kPushers = Min(Phase::kRowWarpgroups, Phase::kRowTiles);

  u32 chunk;    // shared address of the cluster's chunk of h: slice of rank 0 first
  u32 arrived;  // shared address of the mbarrier

  __device__ __forceinline__ u32 Slice(u32 rank) const { return chunk + rank * Smem::kSliceBytes; }

  // One thread, before the cluster barrier.
  __device__ __forceinline__ void Init() const {
    ptx::MbarrierInit(arrived, 1 + kPushers);
    ptx::MbarrierArriveExpectTx(arrived, (Plan::kClusterSize - 1) * Smem::kSliceBytes);
  }

  // All threads of a warpgroup that stored rows of the slice.
  __device__ __forceinline__ void Push(u32 rank, u32 row_group) const {
    ptx::FenceProxyAsyncShared();
    ptx::NamedBarrier(kPushBarrier + row_group, kWarpgroupThreads);
    Jitter<Plan>();
    const u32 thread = threadIdx.x % kWarpgroupThreads;
    if (thread < Plan::kClusterSize - 1) {
      const u32 peer = (rank + 1 + thread) % Plan::kClusterSize;
      const u32 peer_barrier = ptx::MapToPeer(arrived, peer);
#pragma unroll
      for (int tile = 0; tile < Phase::kTiles; ++tile) {
        const int row = (row_group + tile * Phase::kRowWarpgroups) * kWgmmaRows;
        if (row >= Phase::kRowsPerPass) continue;
        const u32 bytes = Min(kWgmmaRows, Phase::kRowsPerPass - row) / 8 * Smem::kGranuleBytes;
        const u32 source = Slice(rank) + row / 8 * Smem::kGranuleBytes;
        ptx::BulkCopyToPeer(ptx::MapToPeer(source, peer), source, bytes, peer_barrier);
      }
    }
    if (thread == kWarpgroupThreads - 1) ptx::MbarrierArrive(arrived);
  }

  __device__ __forceinline__ void Wait(u32* report) const {
    WaitBarrier<Plan>(SpinSite::kIntermediate, report, arrived, 0);
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_GATHER_CUH_
