// Residual mode "sandwich": y = residual + norm2(f). The outputs f of a block of 8 tokens are left
// in the workspace; the warp that finishes the block's last unit normalises the rows and writes y.
//
// Memory-model rule: as edges/ordered_partials.cuh, with a counter for each block of tokens.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_SANDWICH_NORM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_SANDWICH_NORM_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/tile/row_norm.cuh"

namespace fusebox {

template <typename Plan>
struct SandwichNorm {
  using Workspace = FfnWorkspace<Plan>;

  const FfnParams& params;
  u32 lane;

  __device__ __forceinline__ u16* Output(u32 token) const {
    auto* rows = reinterpret_cast<u16*>(reinterpret_cast<unsigned char*>(params.workspace) +
                                        Workspace::kOutputs);
    return rows + token * i64{Plan::kHidden};
  }

  // A warp that has stored one unit of the block; `units` of them make it whole.
  __device__ __forceinline__ void Arrive(u32 block, u32 units) const {
    __syncwarp();
    u32* counter = params.workspace + (Workspace::kCounters + Workspace::kCounterBytes) / 4 -
                   Workspace::kBlockCounters + block;
    u32 ticket = 0;
    if (lane == 0) ticket = ptx::AddAcquireRelease(counter, 1);
    ticket = __shfl_sync(0xffffffffu, ticket, 0);
    if (ticket != units - 1) return;
    if (lane == 0) *counter = 0;
    for (u32 token = block * 8; token < block * 8 + 8 && token < params.tokens; ++token)
      WriteRow(token);
  }

  __device__ __forceinline__ void WriteRow(u32 token) const {
    float sum = 0.0f;
#pragma unroll 8
    for (u32 column = lane * 8; column < Plan::kHidden; column += kWarpThreads * 8) {
      const auto f = LoadElements<Plan>(Output(token) + column);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += f.values[i] * f.values[i];
    }
    const float scale = ptx::ReciprocalSquareRoot(WarpSum(sum) / Plan::kHidden + params.eps);
#pragma unroll 4
    for (u32 column = lane * 8; column < Plan::kHidden; column += kWarpThreads * 8) {
      auto out = Normalize<Plan, Plan::kNorm>(LoadElements<Plan>(Output(token) + column), 0.0f,
                                              scale, params.second_norm_weight, nullptr, column);
      const auto residual =
          LoadElements<Plan>(params.residual + token * params.residual_stride + column);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        out.values[i] = ptx::Round<Plan::kDType>(out.values[i]) + residual.values[i];
      StoreElements<Plan>(params.y + token * params.y_stride + column, out);
    }
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_SANDWICH_NORM_CUH_
