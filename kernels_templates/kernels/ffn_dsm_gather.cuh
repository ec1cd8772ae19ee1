// Dataflow "dsm gather" of the ffn kernel: see src/plan/fusion_plan.h. h stays in the cluster; each
// cluster's partial sums meet in L2. Warps 2 and 3 finish the outputs of earlier passes.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_DSM_GATHER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_DSM_GATHER_CUH_

#include "kernels_templates/edges/dsm_gather.cuh"
#include "kernels_templates/edges/ordered_partials.cuh"
#include "kernels_templates/kernels/ffn_cta.cuh"

namespace fusebox {

template <typename Plan>
struct DsmGatherFlow {
  using Smem = FfnSmem<Plan>;
  using Up = UpPhase<Plan>;
  using Down = DownPhase<Plan>;
  static constexpr bool kLeavesTogether = true;  // peers read the slice that a CTA pushes

  const FfnCta<Plan>& cta;
  DsmGather<Plan> gather;
  Outputs<Plan> outputs;
  OrderedPartials<Plan> partials;

  __device__ __forceinline__ explicit DsmGatherFlow(const FfnCta<Plan>& of)
      : cta(of),
        gather{cta.base + Smem::kIntermediate, cta.edge_barriers},
        outputs{cta.params, cta.rows, cta.rank * Down::kRowsPerCta, cta.lane},
        partials{cta.params, outputs, cta.edge_barriers + 8, cta.cluster, cta.rank, cta.lane} {}

  __device__ __forceinline__ void InitBarriers() const {
    gather.Init();
    partials.Init();
  }

  __device__ __forceinline__ void Consume() const {
    const u32 warp = threadIdx.x / kWarpThreads - 4;
    const u32 warpgroup = warp / 4;
    u32* const report = cta.params.workspace;
    WeightReader<Plan> weights{cta.weights};
    {
      ActivationReader<Plan> activations(cta.activations, cta.rank);
      UpSums<Plan> sums;
      const auto share = WarpgroupShare::template Of<Up>(warpgroup);
      RunStreamedPass<Plan, Up>(sums, weights, activations, share, report);
      SumOverKGroups<Plan, Up>(sums, cta.base + Smem::kExchange, share);
      if (share.k_group == 0 && share.row_group < DsmGather<Plan>::kPushers) {
        StoreIntermediate<Plan>(cta.params, sums, gather.Slice(cta.rank), cta.FirstRow(),
                                share.row_group);
        gather.Push(cta.rank, share.row_group);
      }
    }
    gather.Wait(report);
    ptx::ClusterArrive();       // all slices have come: peers may leave
    ptx::GridDependencyWait();  // the workspace and y are ours from here
    if constexpr (Plan::kHasNorm) cta.rows.Wait();
    for (u32 pass = 0; pass < Down::kPasses; ++pass) {
      DownSums<Plan> sums;
      RunChunkPass<Plan>(sums, weights, gather.chunk, warpgroup, report);
      Jitter<Plan>();
      partials.StorePass(sums, pass, warp);
    }
  }

  __device__ __forceinline__ void ProduceActivations() const {
    RingCursor<Plan::kActivationSlots> cursor;
    cta.StreamRows(cursor);
  }

  // Combiner warps 0 .. kCombinerWarps - 1.
  __device__ __forceinline__ void CombineOutputs(u32 combiner) const {
    ptx::GridDependencyWait();
    partials.FinishPasses(combiner);
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_DSM_GATHER_CUH_
