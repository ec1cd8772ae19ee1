// Edge "grid gather": every CTA writes its slice of h to the workspace, [token_tile, intermediate]
// row-major in L2; behind a grid barrier all CTAs stream all of it by TMA, as they streamed x.
// Needs all CTAs resident at once: a cooperative launch.
//
// Memory-model rule (generic stores to global, read by TMA in other CTAs): a proxy fence by each
// writing thread, a barrier of the CTA's writers, one release at GPU scope on the counter; the
// reader's acquire at GPU scope, and a proxy fence before its first copy.
//
// Barriers:
// - arrived: one word; one arrival of each CTA.
// - departed: one word; one arrival of each CTA that has seen all arrive. The last of them sets
// both
//   back to zero: the next launch's adds come after griddepcontrol.wait, hence after that.
// - named kSliceBarrier + row group: the 128 threads of a warpgroup that stores rows, twice a pass:
//   its rows are in shared memory; they have been read.
// - named kGatherBarrier: all consumer threads, once: all of the CTA's rows are stored.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EDGES_GRID_GATHER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EDGES_GRID_GATHER_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/ptx/global_memory.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"
#include "kernels_templates/tile/ffn_workspace.cuh"

namespace fusebox {

constexpr u32 kSliceBarrier = 2;  // named barriers kSliceBarrier .. + row warpgroups
constexpr u32 kGatherBarrier = 6;

template <typename Plan>
struct GridGather {
  using Smem = FfnSmem<Plan>;
  using Phase = UpPhase<Plan>;
  using Workspace = FfnWorkspace<Plan>;
  static constexpr int kStorers = Min(Phase::kRowWarpgroups, Phase::kRowTiles);
  static constexpr u32 kGridCtas = Plan::kNumClusters * Plan::kClusterSize;
  static constexpr u32 kLineWords = 32;  // the two words lie in lines of their own

  const FfnParams& params;
  u32 slice;  // shared address of one pass of the CTA's slice

  __device__ __forceinline__ u32* Arrived() const {
    return params.workspace + Workspace::kCounters / 4;
  }
  __device__ __forceinline__ u32* Departed() const { return Arrived() + kLineWords; }

  // All threads of a warpgroup that stored rows of the slice, after griddepcontrol.wait.
  // `first_row`: intermediate row of the pass's first row.
  __device__ __forceinline__ void StorePass(u32 first_row, u32 row_group) const {
    ptx::NamedBarrier(kSliceBarrier + row_group, kWarpgroupThreads);
    if constexpr (Phase::kTokensAreRows) {
      StoreTokens(first_row, row_group);
    } else {
      StoreRows(first_row, row_group);
    }
    ptx::NamedBarrier(kSliceBarrier + row_group, kWarpgroupThreads);
  }

  // Granule `granule` of the slice, 8 columns of a token, to row `row` and on of h.
  __device__ __forceinline__ void StoreGranule(u32 granule, u32 token, u32 row) const {
    auto* h = reinterpret_cast<u16*>(reinterpret_cast<unsigned char*>(params.workspace) +
                                     Workspace::kGathered);
    const Float4 piece = ptx::LoadShared(slice + granule * Smem::kGranuleBytes + token * 16);
    ptx::StoreThroughL2(reinterpret_cast<Float4*>(h + i64{token} * Plan::kIntermediate + row),
                        piece);
  }

  // Tokens in wgmma's rows: the warpgroup's tokens, two granules at a time.
  __device__ __forceinline__ void StoreTokens(u32 first_row, u32 token_group) const {
    const u32 thread = threadIdx.x % kWarpgroupThreads;
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
      const u32 token = (token_group + tile * Phase::kRowWarpgroups) * kWgmmaRows + thread / 2;
      if (token >= params.tokens) continue;
      for (u32 granule = thread % 2; granule < Phase::kRowsPerPass / 8; granule += 2) {
        if (first_row + granule * 8 < Plan::kIntermediate)
          StoreGranule(granule, token, first_row + granule * 8);
      }
    }
  }

  // Weights in wgmma's rows: the warpgroup's rows.
  __device__ __forceinline__ void StoreRows(u32 first_row, u32 row_group) const {
    constexpr u32 kGranulesPerTile = kWgmmaRows / 8;
    const u32 thread = threadIdx.x % kWarpgroupThreads;
    const u32 in_tile = thread % kGranulesPerTile;
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
      const u32 row =
          (row_group + tile * Phase::kRowWarpgroups) * kWgmmaRows + in_tile * 8;  // in the pass
      if (row >= Phase::kRowsPerPass || first_row + row >= Plan::kIntermediate) continue;
      for (u32 token = thread / kGranulesPerTile; token < params.tokens;
           token += kWarpgroupThreads / kGranulesPerTile) {
        StoreGranule(row / 8, token, first_row + row);
      }
    }
  }

  // All consumer threads, after the last pass.
  __device__ __forceinline__ void Arrive() const {
    ptx::FenceProxyAsync();
    ptx::NamedBarrier(kGatherBarrier, Plan::kConsumerWarpgroups * kWarpgroupThreads);
    Jitter<Plan>();
    if (threadIdx.x == kWarpgroupThreads) ptx::AddAcquireRelease(Arrived(), 1);
  }

  // The thread that copies h, before its first copy.
  __device__ __forceinline__ void Wait() const {
    SpinUntil<Plan>(SpinSite::kGridArrived, params.workspace,
                    [&] { return ptx::LoadAcquire(Arrived()) == kGridCtas; });
    if (ptx::AddAcquireRelease(Departed(), 1) == kGridCtas - 1) {
      *Arrived() = 0;
      *Departed() = 0;
    }
    ptx::FenceProxyAsync();
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EDGES_GRID_GATHER_CUH_
