// Stage before phase 1 of ops with a norm: the CTAs of a cluster share its tokens, normalise their
// rows and leave them in the cluster's part of the workspace, from where phase 1 streams them by
// TMA as it would stream x. Runs while the weight ring fills.
//
// Memory-model rule (generic stores to global, read by TMA in other CTAs): a proxy fence by each
// writing thread, a barrier of the writers, a release at cluster scope; the reader's acquire at
// cluster scope, and a proxy fence before its first copy.
//   ready: 1 arrival of each CTA of the cluster after its rows; one phase a launch.
//   named kRowsBarrier: all consumer threads, twice a sum over a token and once at the end.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PROLOGUE_NORMALIZED_ROWS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PROLOGUE_NORMALIZED_ROWS_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/ptx/cluster.cuh"
#include "kernels_templates/ptx/global_memory.cuh"
#include "kernels_templates/ptx/mbarrier.cuh"
#include "kernels_templates/ptx/shared_memory.cuh"
#include "kernels_templates/tile/row_norm.cuh"

namespace fusebox {

constexpr u32 kRowsBarrier = 7;

template <typename Plan>
struct NormalizedRows {
  using Workspace = FfnWorkspace<Plan>;
  static constexpr int kThreads = Plan::kConsumerWarpgroups * kWarpgroupThreads;

  const FfnParams& params;
  u32 ready;    // shared address of the mbarrier
  u32 scratch;  // shared address of one float a consumer warp
  u32 cluster;
  u32 rank;

  __device__ __forceinline__ void Init() const { ptx::MbarrierInit(ready, Plan::kClusterSize); }

  __device__ __forceinline__ u16* Row(i64 part, u32 token) const {
    auto* rows = reinterpret_cast<u16*>(reinterpret_cast<unsigned char*>(params.workspace) + part);
    return rows + (i64{cluster} * Plan::kTokenTile + token) * Plan::kHidden;
  }

  // Adds one value of every consumer thread, in a fixed order.
  __device__ __forceinline__ float SumOverThreads(float value, u32 thread) const {
    value = WarpSum(value);
    ptx::NamedBarrier(kRowsBarrier, kThreads);  // the last sum has been read by all
    if (thread % kWarpThreads == 0)
      ptx::StoreSharedFloat(scratch + thread / kWarpThreads * 4, value);
    ptx::NamedBarrier(kRowsBarrier, kThreads);
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < kThreads / kWarpThreads; ++warp)
      sum += ptx::LoadSharedFloat(scratch + warp * 4);
    return sum;
  }

  // All consumer threads, after griddepcontrol.wait.
  __device__ __forceinline__ void Produce(u32 thread) const {
    for (u32 token = rank; token < params.tokens; token += Plan::kClusterSize) {
      NormalizeRow(token, thread);
    }
    ptx::FenceProxyAsync();
    ptx::NamedBarrier(kRowsBarrier, kThreads);
    Jitter<Plan>();
    if (thread < Plan::kClusterSize) ptx::MbarrierArriveCluster(ptx::MapToPeer(ready, thread));
  }

  __device__ __forceinline__ Elements8<Plan> Input(u32 token, u32 column) const {
    const auto x = LoadElements<Plan>(params.x_rows + token * params.x_stride + column);
    if constexpr (!Workspace::kHasSums) return x;
    const auto residual =
        LoadElements<Plan>(params.residual + token * params.residual_stride + column);
    Elements8<Plan> sum;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum.values[i] = ptx::Round<Plan::kDType>(x.values[i] + residual.values[i]);
    return sum;
  }

  __device__ __forceinline__ void NormalizeRow(u32 token, u32 thread) const {
    float sum = 0.0f;
    for (u32 column = thread * 8; column < Plan::kHidden; column += kThreads * 8) {
      const auto input = Input(token, column);
      if constexpr (Workspace::kHasSums)
        StoreElements<Plan>(Row(Workspace::kSums, token) + column, input);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sum += Plan::kNorm == Norm::kLayer ? input.values[i] : input.values[i] * input.values[i];
    }
    float mean = 0.0f;
    float squares = SumOverThreads(sum, thread);
    if constexpr (Plan::kNorm == Norm::kLayer) {
      mean = squares / Plan::kHidden;
      float deviations = 0.0f;
      for (u32 column = thread * 8; column < Plan::kHidden; column += kThreads * 8) {
        const auto input = Input(token, column);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          deviations += (input.values[i] - mean) * (input.values[i] - mean);
      }
      squares = SumOverThreads(deviations, thread);
    }
    const float scale = ptx::ReciprocalSquareRoot(squares / Plan::kHidden + params.eps);
    for (u32 column = thread * 8; column < Plan::kHidden; column += kThreads * 8) {
      const auto output = Normalize<Plan, Plan::kNorm>(
          Input(token, column), mean, scale, params.norm_weight, params.norm_bias, column);
      StoreElements<Plan>(Row(Workspace::kNormalized, token) + column, output);
    }
  }

  // Whoever reads the rows, by generic loads.
  __device__ __forceinline__ void Wait() const {
    SpinUntil<Plan>(SpinSite::kRows, params.workspace,
                    [&] { return ptx::MbarrierTryWaitCluster(ready, 0); });
  }
  // The activation producer, before its first copy.
  __device__ __forceinline__ void WaitForCopies() const {
    Wait();
    ptx::FenceProxyAsync();
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_PROLOGUE_NORMALIZED_ROWS_CUH_
