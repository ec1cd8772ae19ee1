// One CTA of the ffn kernel: its place in the grid, its rings and barriers, and what both dataflows
// share of its work.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CTA_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CTA_CUH_

#include "kernels_templates/epilogue/intermediate.cuh"
#include "kernels_templates/epilogue/outputs.cuh"
#include "kernels_templates/mma/k_group_sum.cuh"

namespace fusebox {

template <typename Plan>
struct FfnCta {
  using Smem = FfnSmem<Plan>;
  using Up = UpPhase<Plan>;

  const FfnParams& params;
  u32 base;  // shared address of the carve
  u32 cluster;
  u32 rank;  // in the cluster
  u32 lane;
  WeightRing<Plan> weights;
  ActivationRing<Plan> activations;
  u32 edge_barriers;  // shared address of the edge's barriers
  NormalizedRows<Plan> rows;

  __device__ __forceinline__ explicit FfnCta(const FfnParams& kernel_params, u32 smem_base)
      : params(kernel_params),
        base(smem_base),
        cluster(blockIdx.x / Plan::kClusterSize),
        rank(ptx::ClusterCtaRank()),
        lane(threadIdx.x % kWarpThreads),
        weights{base + Smem::kRing, base + Smem::kBarriers},
        activations{base + Smem::kActivations, weights.barriers + Smem::kRingBarriers * 8},
        edge_barriers(activations.barriers + Smem::kActivationBarriers * 8),
        rows{params, edge_barriers + Smem::kEdgeBarriers * 8, base + Smem::kScratch, cluster,
             rank} {}

  // First intermediate row of the CTA.
  __device__ __forceinline__ u32 FirstRow() const {
    return (cluster * Plan::kClusterSize + rank) * Up::kRowsPerCta;
  }

  // One thread.
  __device__ __forceinline__ void InitBarriers() const {
    weights.Init(Plan::kConsumerWarpgroups * 4);
    activations.Init(Plan::kConsumerWarpgroups * 4 *
                     (Plan::kActivationMulticast ? Plan::kClusterSize : 1));
    if (Plan::kHasNorm) rows.Init();
  }

  // Consumers: the rows that phase 1 streams, where the op has a norm.
  __device__ __forceinline__ void PrepareRows() const {
    if constexpr (Plan::kHasNorm) {
      ptx::GridDependencyWait();  // x is the previous kernel's output
      rows.Produce(threadIdx.x - kWarpgroupThreads);
    }
  }

  // The activation producer: all of x, for every pass of phase 1.
  __device__ __forceinline__ void StreamRows(RingCursor<Plan::kActivationSlots>& cursor) const {
    int first_row = 0;
    if constexpr (Plan::kHasNorm) {
      rows.WaitForCopies();
      first_row = cluster * Plan::kTokenTile;
    } else {
      ptx::GridDependencyWait();  // x is the previous kernel's output
    }
    ProduceActivations<Plan, Up>(params, activations, cursor, params.x, first_row, 0, rank);
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CTA_CUH_
