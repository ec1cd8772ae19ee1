// The ffn kernel, dataflow "dsm gather": see src/plan/fusion_plan.h for the partition.
// Roles: warpgroup 0 produces and finishes (warp 0 weights, warp 1 activations, warps 2 and 3 the
// outputs of earlier passes), the others normalise the rows where the op has a norm, then consume.
// PDL contract: before griddepcontrol.wait only weights and biases are read; activations, residual,
// workspace and y come after it, in every thread.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_

#include "kernels_templates/copy/ffn_producers.cuh"
#include "kernels_templates/edges/dsm_gather.cuh"
#include "kernels_templates/edges/ordered_partials.cuh"
#include "kernels_templates/epilogue/intermediate.cuh"
#include "kernels_templates/mma/ffn_phases.cuh"
#include "kernels_templates/mma/k_group_sum.cuh"

namespace fusebox {

enum class WarpRole : u32 {
  kWeightProducer = 0,
  kActivationProducer = 1,
  kCombiner = 2,
  kConsumer = 3
};

__device__ __forceinline__ WarpRole RoleOf(u32 warp) {
  if (warp >= 4) return WarpRole::kConsumer;
  return warp == 0   ? WarpRole::kWeightProducer
         : warp == 1 ? WarpRole::kActivationProducer
                     : WarpRole::kCombiner;
}

template <typename Plan>
struct FfnRings {
  WeightRing<Plan> weights;
  ActivationRing<Plan> activations;
  DsmGather<Plan> gather;
  u32 stored;
  u32 exchange;
  u32 scratch;
  u32 rows_ready;

  __device__ __forceinline__ explicit FfnRings(u32 base)
      : weights{base + FfnSmem<Plan>::kRing, base + FfnSmem<Plan>::kBarriers},
        activations{base + FfnSmem<Plan>::kActivations,
                    base + FfnSmem<Plan>::kBarriers + Plan::kRingSlots * 16},
        gather{base + FfnSmem<Plan>::kIntermediate,
               base + FfnSmem<Plan>::kBarriers + (Plan::kRingSlots + Plan::kActivationSlots) * 16},
        stored(base + FfnSmem<Plan>::kBarriers + (Plan::kRingSlots + Plan::kActivationSlots) * 16 +
               8),
        exchange(base + FfnSmem<Plan>::kExchange),
        scratch(base + FfnSmem<Plan>::kScratch),
        rows_ready(stored + (Plan::kDownPasses - 1) * 8) {}
};

template <typename Plan>
__device__ __forceinline__ void RunConsumer(const FfnParams& params, const FfnRings<Plan>& rings,
                                            const OrderedPartials<Plan>& partials,
                                            const NormalizedRows<Plan>& rows, u32 rank) {
  using Smem = FfnSmem<Plan>;
  const u32 warp = threadIdx.x / kWarpThreads - 4;
  const u32 warpgroup = warp / 4;
  const u32 row_group = warpgroup % Smem::kRowWarpgroups;
  const u32 k_group = warpgroup / Smem::kRowWarpgroups;
  ptx::ClusterWait();  // peers' barriers are initialised
  if constexpr (Plan::kHasNorm) {
    ptx::GridDependencyWait();  // x is the previous kernel's output
    rows.Produce(threadIdx.x - kWarpgroupThreads);
  }

  WeightReader<Plan> weights{rings.weights};
  {
    ActivationReader<Plan> activations{rings.activations};
    UpAccumulators<Plan> sums;
    RunUpPhase<Plan>(sums, weights, activations, row_group, k_group, params.workspace);
    SumOverKGroups<Plan>(sums, rings.exchange, row_group, k_group);
    if (k_group == 0 && row_group < DsmGather<Plan>::kPushers) {
      const u32 first_row = partials.cluster * Smem::kChunkRows + rank * Plan::kUpRowsPerCta;
      StoreIntermediate<Plan>(params, sums, rings.gather.Slice(rank), first_row, row_group);
      rings.gather.Push(rank, row_group);
    }
  }
  rings.gather.Wait(params.workspace);
  ptx::ClusterArrive();       // all slices have come: peers may leave
  ptx::GridDependencyWait();  // the workspace and y are ours from here
  if constexpr (Plan::kHasNorm) rows.Wait();

  for (u32 pass = 0; pass < Plan::kDownPasses; ++pass) {
    DownAccumulators<Plan> sums;
    RunDownPass<Plan>(sums, weights, rings.gather.chunk, warpgroup, params.workspace);
    Jitter<Plan>();
    partials.StorePass(sums, pass, warp);
  }
}

template <typename Plan>
__device__ __forceinline__ void RunFfn(const FfnParams& params) {
  using Smem = FfnSmem<Plan>;
  const WarpRole role = RoleOf(threadIdx.x / kWarpThreads);
  if (params.tokens == 0) {  // nothing to do, but the PDL chain must hold
    if (threadIdx.x == 0) ptx::LaunchDependents();
    ptx::GridDependencyWait();
    return;
  }

  extern __shared__ unsigned char dynamic_smem[];
  const u32 base = (ptx::SharedAddress(dynamic_smem) + kSmemAlignment - 1) &
                   ~static_cast<u32>(kSmemAlignment - 1);
  const FfnRings<Plan> rings(base);
  const u32 rank = ptx::ClusterCtaRank();
  const u32 cluster = blockIdx.x / Plan::kClusterSize;
  const u32 lane = threadIdx.x % kWarpThreads;
  const NormalizedRows<Plan> rows{params, rings.rows_ready, rings.scratch, cluster, rank};
  const OrderedPartials<Plan> partials{params, rows, rings.stored, cluster, rank, lane};

  if (threadIdx.x == 0) {
    rings.weights.Init(Plan::kConsumerWarpgroups * 4);
    rings.activations.Init(Plan::kConsumerWarpgroups * 4);
    rings.gather.Init();
    partials.Init();
    if (Plan::kHasNorm) rows.Init();
    ptx::FenceMbarrierInit();
    ptx::LaunchDependents();
  }
  ptx::ClusterArrive();  // thread 0's inits are released to the cluster

  if (role == WarpRole::kConsumer) {
    RunConsumer<Plan>(params, rings, partials, rows, rank);
  } else {
    // Thread 0 initialised the barriers itself, so the weight stream need not wait for anybody.
    if (role == WarpRole::kWeightProducer && lane == 0)
      ProduceWeights<Plan>(params, rings.weights, cluster, rank);
    ptx::ClusterWait();
    if (role == WarpRole::kActivationProducer && lane == 0) {
      if constexpr (Plan::kHasNorm) {
        rows.WaitForCopies();
        ProduceActivations<Plan>(params, rings.activations, cluster * Plan::kTokenTile);
      } else {
        ptx::GridDependencyWait();  // x is the previous kernel's output
        ProduceActivations<Plan>(params, rings.activations, 0);
      }
    }
    if (role == WarpRole::kCombiner) {
      ptx::GridDependencyWait();
      partials.FinishPasses(threadIdx.x / kWarpThreads - 2);
    }
    ptx::ClusterArrive();
  }
  ptx::ClusterWait();  // no CTA leaves before every peer has its slice
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_
