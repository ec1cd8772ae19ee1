// From a CTA's sums of phase 2 to y: the units in which sums are handed around and written, and
// what happens to each output on its way (bias, rounding, residual).
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_OUTPUTS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_OUTPUTS_CUH_

#include "kernels_templates/epilogue/sandwich_norm.cuh"
#include "kernels_templates/mma/phase_pass.cuh"
#include "kernels_templates/prologue/normalized_rows.cuh"
#include "kernels_templates/ptx/convert.cuh"

namespace fusebox {

template <typename Plan>
using DownSums = Accumulators<DownPhase<Plan>>;

template <typename Plan>
struct Outputs {
  using Phase = DownPhase<Plan>;
  using Workspace = FfnWorkspace<Plan>;
  // A strip is the 16 wgmma rows of one warp in one tile of one pass: output rows, or tokens. A
  // unit is a strip's fragments for a block of 8 columns, tokens or output rows: 32 lanes x 16
  // bytes. Units of a pass are numbered block * kPassStrips + strip.
  static constexpr int kWarps = Phase::kRowWarpgroups * 4;
  static constexpr int kBlocks = Phase::kBlocks;
  static constexpr int kPassStrips = Phase::kTiles * kWarps;
  static constexpr int kPassUnits = kPassStrips * kBlocks;
  // Units with rows of one slice of output rows that have outputs of a block of 8 tokens.
  static constexpr int kSliceBlockUnits =
      Phase::kPasses * CeilDiv(Phase::kRowsPerPass, Phase::kTokensAreRows ? 8 : 16);

  // Grid gather: slices of output rows, each of one CTA or of those that split its k.
  static constexpr u32 kSlices = Plan::kNumClusters * Plan::kClusterSize / Phase::kKCtas;

  const FfnParams& params;
  NormalizedRows<Plan> rows;
  u32 slice_row;  // the CTA's first output row
  u32 lane;

  __device__ __forceinline__ static u32 Unit(int tile, int block, u32 warp) {
    return block * kPassStrips + tile * kWarps + warp;
  }
  // First of a unit's 16 wgmma rows and of its 8 columns: the warp's place in its warpgroup decides
  // which 16 of the tile's 64 rows.
  __device__ __forceinline__ static u32 Strip(u32 unit) {
    const u32 strip = unit % kPassStrips;
    const u32 warp = strip % kWarps;
    return (warp / 4 + strip / kWarps * Phase::kRowWarpgroups) * kWgmmaRows + warp % 4 * 16;
  }
  __device__ __forceinline__ static u32 Block(u32 unit) { return unit / kPassStrips * 8; }
  // Weights in rows: this lane's two tokens of a unit are token, token + 1.
  __device__ __forceinline__ u32 Token(u32 unit) const { return Block(unit) + lane % 4 * 2; }
  __device__ __forceinline__ bool Exists(u32 unit) const {
    if constexpr (Phase::kTokensAreRows) return Strip(unit) < params.tokens;
    return Strip(unit) < Phase::kRowsPerPass && Block(unit) < params.tokens;
  }

  // This lane's four sums of a unit.
  __device__ __forceinline__ void WriteUnit(u32 pass, u32 unit, const Float4& sum) const {
    if constexpr (Phase::kTokensAreRows) {
      const u32 token = Strip(unit) + lane / 4;
      const u32 row = slice_row + pass * Phase::kRowsPerPass + Block(unit) + lane % 4 * 2;
      if (row >= Plan::kHidden) return;  // even, as hidden is
      WriteOutput(token, row, sum.x);
      WriteOutput(token, row + 1, sum.y);
      WriteOutput(token + 8, row, sum.z);
      WriteOutput(token + 8, row + 1, sum.w);
      return;
    }
    const u32 token = Token(unit);
    const u32 in_pass = Strip(unit) + lane / 4;
    const u32 row = slice_row + pass * Phase::kRowsPerPass + in_pass;
    if (in_pass < Phase::kRowsPerPass && row < Plan::kHidden) {
      WriteOutput(token, row, sum.x);
      WriteOutput(token + 1, row, sum.y);
    }
    if (in_pass + 8 < Phase::kRowsPerPass && row + 8 < Plan::kHidden) {
      WriteOutput(token, row + 8, sum.z);
      WriteOutput(token + 1, row + 8, sum.w);
    }
  }

  // A whole warp, after WriteUnit of a unit that exists; `num_slices` slices of output rows
  // make the token block's outputs.
  __device__ __forceinline__ void FinishUnit(u32 unit, u32 num_slices) const {
    if constexpr (Plan::kResidualMode == ResidualMode::kSandwich) {
      const SandwichNorm<Plan> norm{params, lane};
      const u32 units = num_slices * kSliceBlockUnits;
      const u32 token = Phase::kTokensAreRows ? Strip(unit) : Block(unit);
      norm.Arrive(token / 8, units);
      if (Phase::kTokensAreRows && token + 8 < params.tokens) norm.Arrive(token / 8 + 1, units);
    }
  }

  // Grid gather: a consumer warp's sums of a pass are whole.
  __device__ __forceinline__ void WritePass(const DownSums<Plan>& sums, u32 pass, u32 warp) const {
    Jitter<Plan>();
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const u32 unit = Unit(tile, block, warp);
        if (!Exists(unit)) continue;
        WriteUnit(pass, unit, sums.Fragment(tile, block));
        FinishUnit(unit, kSlices);
      }
    }
  }

 private:
  __device__ __forceinline__ void WriteOutput(u32 token, u32 row, float value) const {
    if (token >= params.tokens) return;
    if constexpr (Plan::kDownBias) value += ptx::Widen<Plan::kDType>(params.down_bias[row]);
    u16 bits = ptx::Narrow<Plan::kDType>(value);
    if constexpr (Plan::kResidualMode == ResidualMode::kAddAfter) {
      const u16 residual = params.residual[token * params.residual_stride + row];
      bits = ptx::Narrow<Plan::kDType>(ptx::Widen<Plan::kDType>(bits) +
                                       ptx::Widen<Plan::kDType>(residual));
    } else if constexpr (Plan::kResidualMode == ResidualMode::kAddBeforeNorm) {
      // All clusters have read x and residual by now, so residual_out may be residual.
      params.residual_out[token * params.residual_out_stride + row] =
          rows.Row(Workspace::kSums, token)[row];
    } else if constexpr (Plan::kResidualMode == ResidualMode::kSandwich) {
      SandwichNorm<Plan>{params, lane}.Output(token)[row] = bits;
      return;
    }
    params.y[token * params.y_stride + row] = bits;
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_OUTPUTS_CUH_
