// The ffn kernel, in the dataflow that the plan names.
// Roles: warpgroup 0 produces (warp 0 weights, warp 1 activations; warps 2 and 3 combine outputs
// where the dataflow has that), the others normalise the rows where the op has a norm, then
// consume. PDL contract: before griddepcontrol.wait only weights and biases are read; activations,
// residual, workspace and y come after it, in every thread.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_

#include "kernels_templates/kernels/ffn_dsm_gather.cuh"
#include "kernels_templates/kernels/ffn_grid_gather.cuh"
#include "kernels_templates/ptx/registers.cuh"

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

template <Edge kEdge, typename Plan>
struct FlowOf;
template <typename Plan>
struct FlowOf<Edge::kDsmGather, Plan> {
  using Type = DsmGatherFlow<Plan>;
};
template <typename Plan>
struct FlowOf<Edge::kGridGather, Plan> {
  using Type = GridGatherFlow<Plan>;
};

template <typename Plan, typename Flow>
__device__ __forceinline__ void RunProducers(const FfnCta<Plan>& cta, const Flow& flow,
                                             WarpRole role) {
  // Thread 0 initialised the barriers itself, so the weight stream need not wait for anybody.
  if (role == WarpRole::kWeightProducer && cta.lane == 0)
    ProduceWeights<Plan>(cta.params, cta.weights, cta.cluster, cta.rank);
  ptx::ClusterWait();
  if (role == WarpRole::kActivationProducer && cta.lane == 0) flow.ProduceActivations();
  if (role == WarpRole::kCombiner) flow.CombineOutputs(threadIdx.x / kWarpThreads - 2);
  if constexpr (Flow::kLeavesTogether) ptx::ClusterArrive();
}

template <typename Plan>
__device__ __forceinline__ void RunFfn(const FfnParams& params) {
  const WarpRole role = RoleOf(threadIdx.x / kWarpThreads);
  if (params.tokens == 0) {  // nothing to do, but the PDL chain must hold
    if (threadIdx.x == 0) ptx::LaunchDependents();
    ptx::GridDependencyWait();
    return;
  }

  extern __shared__ unsigned char dynamic_smem[];
  const u32 base = (ptx::SharedAddress(dynamic_smem) + kSmemAlignment - 1) &
                   ~static_cast<u32>(kSmemAlignment - 1);
  const FfnCta<Plan> cta(params, base);
  using Flow = typename FlowOf<Plan::kEdge, Plan>::Type;
  const Flow flow(cta);

  if (threadIdx.x == 0) {
    cta.InitBarriers();
    flow.InitBarriers();
    ptx::FenceMbarrierInit();
    ptx::LaunchDependents();
  }
  ptx::ClusterArrive();  // thread 0's inits are released to the cluster

  if (role == WarpRole::kConsumer) {
    if constexpr (Plan::kConsumerRegisters > 0) ptx::RequestRegisters<Plan::kConsumerRegisters>();
    ptx::ClusterWait();  // peers' barriers are initialised
    cta.PrepareRows();
    flow.Consume();
  } else {
    if constexpr (Plan::kProducerRegisters > 0) ptx::ReleaseRegisters<Plan::kProducerRegisters>();
    RunProducers<Plan>(cta, flow, role);
  }
  // No CTA leaves before every peer has what it was sent.
  if constexpr (Flow::kLeavesTogether) ptx::ClusterWait();
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_CUH_
