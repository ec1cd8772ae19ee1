// Dataflow "grid gather" of the ffn kernel: see src/plan/fusion_plan.h. h goes through L2 behind a
// grid barrier, which only the activation producer waits for: the weight stream runs on. A CTA
// makes whole outputs, or, where k of phase 2 is split over a cluster, partial sums that the
// cluster adds.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_GRID_GATHER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_GRID_GATHER_CUH_

#include "kernels_templates/edges/dsm_reduce_scatter.cuh"
#include "kernels_templates/edges/grid_gather.cuh"
#include "kernels_templates/kernels/ffn_cta.cuh"

namespace fusebox {

template <typename Plan>
struct GridGatherFlow {
  using Smem = FfnSmem<Plan>;
  using Up = UpPhase<Plan>;
  using Down = DownPhase<Plan>;
  // What peers do to a CTA's shared memory in phase 1 is done when all have met at the grid
  // barrier, and a CTA waits for all sums that they push and for all their arrivals. Only slots of
  // a phase 2 that is multicast may still be freed when it is done itself.
  static constexpr bool kLeavesTogether = Down::kMulticasts;

  const FfnCta<Plan>& cta;
  GridGather<Plan> gather;
  Outputs<Plan> outputs;
  DsmReduceScatter<Plan> scatter;

  __device__ __forceinline__ explicit GridGatherFlow(const FfnCta<Plan>& of)
      : cta(of),
        gather{cta.params, cta.base + Smem::kIntermediate},
        outputs{cta.params, cta.rows,
                (cta.cluster * Plan::kClusterSize + cta.rank) / Down::kKCtas * Down::kRowsPerCta,
                cta.lane},
        scatter{outputs, cta.base, cta.edge_barriers, cta.edge_barriers + 8, cta.rank} {}

  __device__ __forceinline__ void InitBarriers() const {
    if constexpr (Down::kKCtas > 1) scatter.Init();
  }

  __device__ __forceinline__ void Consume() const {
    const u32 warp = threadIdx.x / kWarpThreads - 4;
    u32* const report = cta.params.workspace;
    WeightReader<Plan> weights{cta.weights};
    ActivationReader<Plan> activations(cta.activations, cta.rank);
    MakeSlice(weights, activations, warp / 4);
    gather.Arrive();
    if constexpr (Plan::kHasNorm) cta.rows.Wait();
    const auto share = WarpgroupShare::template Of<Down>(warp / 4);
    for (u32 pass = 0; pass < Down::kPasses; ++pass) {
      DownSums<Plan> sums;
      RunStreamedPass<Plan, Down>(sums, weights, activations, share, report);
      if constexpr (Down::kKCtas > 1) scatter.OfferSpace();
      SumOverKGroups<Plan, Down>(sums, cta.base + Smem::kExchange, share);
      if (share.k_group > 0) continue;
      if constexpr (Down::kKCtas > 1) {
        Jitter<Plan>();
        scatter.Push(sums, warp);
        scatter.FinishUnits(sums, warp);
      } else {
        outputs.WritePass(sums, pass, warp);
      }
    }
    if constexpr (kLeavesTogether) ptx::ClusterArrive();
  }

  // Phase 1: the CTA's rows of h, pass by pass, to L2.
  __device__ __forceinline__ void MakeSlice(WeightReader<Plan>& weights,
                                            ActivationReader<Plan>& activations,
                                            u32 warpgroup) const {
    const auto share = WarpgroupShare::template Of<Up>(warpgroup);
    for (u32 pass = 0; pass < Up::kPasses; ++pass) {
      UpSums<Plan> sums;
      RunStreamedPass<Plan, Up>(sums, weights, activations, share, cta.params.workspace);
      SumOverKGroups<Plan, Up>(sums, cta.base + Smem::kExchange, share);
      if (pass == 0) ptx::GridDependencyWait();  // the workspace and y are ours from here
      if (share.k_group > 0 || share.row_group >= GridGather<Plan>::kStorers) continue;
      const u32 first_row = cta.FirstRow() + pass * Up::kRowsPerPass;
      StoreIntermediate<Plan>(cta.params, sums, gather.slice, first_row, share.row_group);
      gather.StorePass(first_row, share.row_group);
    }
  }

  __device__ __forceinline__ void ProduceActivations() const {
    RingCursor<Plan::kActivationSlots> cursor;
    cta.StreamRows(cursor);
    gather.Wait();
    fusebox::ProduceActivations<Plan, Down>(cta.params, cta.activations, cursor, cta.params.h, 0,
                                            cta.rank % Down::kKCtas * Down::kK, cta.rank);
  }

  __device__ __forceinline__ void CombineOutputs(u32) const {}
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_GRID_GATHER_CUH_
