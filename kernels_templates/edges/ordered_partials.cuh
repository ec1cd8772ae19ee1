// Combine "ordered partials": every cluster leaves its fp32 partial sums in L2; the CTAs of one rank, one in each cluster,
// share the work of adding them in cluster order, so that the result does not depend on who was first.
//
// Memory-model rule: each 32-bit word is its own flag. Words are kWorkspaceEmpty between launches; a writer stores the value
// with one relaxed access, a reader spins on relaxed loads until the word is a value, and empties it again. No order between
// words is needed, so no fence is. The next launch's stores come after griddepcontrol.wait, hence after our emptying.
// Waits between clusters: all CTAs must be co-resident (cooperative launch).
#ifndef FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_

#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/mma/ffn_phases.cuh"
#include "kernels_templates/ptx/convert.cuh"
#include "kernels_templates/ptx/global_memory.cuh"

namespace fusebox {

constexpr int kWorkspaceHeaderWords = 256;

template <typename Plan>
struct OrderedPartials {
  using Smem = FfnSmem<Plan>;
  // A strip is the 16 output rows of one warp in one tile; a unit is a strip's fragments for 8 tokens (32 x 16 bytes).
  static constexpr int kWarps = Plan::kConsumerWarpgroups * 4;
  static constexpr int kStrips = Plan::kDownPasses * Smem::kDownTiles * kWarps;
  static constexpr int kUnits = kStrips * (Plan::kTokenTile / 8);  // of one CTA; unit = block * kStrips + strip
  static constexpr int kBatch = Min(Plan::kNumClusters, 8);        // loads in flight a lane

  const FfnParams& params;
  u32 cluster;
  u32 rank;
  u32 warp;  // consumer warp, 0 .. kWarps - 1
  u32 lane;

  __device__ __forceinline__ ptx::Words4* Address(u32 of_cluster, u32 unit) const {
    auto* partials = reinterpret_cast<ptx::Words4*>(params.workspace + kWorkspaceHeaderWords);
    return partials + ((of_cluster * Plan::kClusterSize + rank) * kUnits + unit) * kWarpThreads + lane;
  }
  __device__ __forceinline__ static u32 Strip(u32 pass, u32 tile, u32 warp) {
    return (pass * Smem::kDownTiles + tile) * kWarps + warp;
  }
  // First row of a strip inside the pass; the warp's place in its warpgroup decides which 16 of the tile's 64.
  __device__ __forceinline__ static u32 RowInPass(u32 tile, u32 warp) {
    return (warp / 4 + tile * Plan::kConsumerWarpgroups) * kWgmmaRows + warp % 4 * 16;
  }
  // This lane's two tokens of a block are token, token + 1.
  __device__ __forceinline__ u32 Token(u32 block) const { return block * 8 + lane % 4 * 2; }

  // A value must not read as empty; any other NaN serves.
  __device__ __forceinline__ static u32 Value(float v) {
    const u32 bits = __float_as_uint(v);
    return bits == kWorkspaceEmpty ? 0x7fffffffu : bits;
  }

  __device__ __forceinline__ void Store(const DownAccumulators<Plan>& sums, u32 pass) const {
#pragma unroll
    for (int tile = 0; tile < Smem::kDownTiles; ++tile) {
      if (RowInPass(tile, warp) >= Plan::kDownRowsPerPass) continue;
#pragma unroll
      for (int block = 0; block < Plan::kTokenTile / 8; ++block) {
        if (Token(block) >= params.tokens) continue;
        const float* v = &sums.values[tile][4 * block];
        ptx::StoreRelaxed(Address(cluster, block * kStrips + Strip(pass, tile, warp)),
                          {Value(v[0]), Value(v[1]), Value(v[2]), Value(v[3])});
      }
    }
  }

  __device__ __forceinline__ static bool Ready(const ptx::Words4& w) {
    return w.x != kWorkspaceEmpty && w.y != kWorkspaceEmpty && w.z != kWorkspaceEmpty && w.w != kWorkspaceEmpty;
  }

  __device__ __forceinline__ Float4 SumUnit(u32 unit) const {
    Float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 first = 0; first < Plan::kNumClusters; first += kBatch) {
      ptx::Words4 words[kBatch];
#pragma unroll
      for (u32 i = 0; i < kBatch; ++i) {
        if (first + i < Plan::kNumClusters) words[i] = ptx::LoadRelaxed(Address(first + i, unit));
      }
#pragma unroll
      for (u32 i = 0; i < kBatch; ++i) {
        if (first + i >= Plan::kNumClusters) continue;
        ptx::Words4* address = Address(first + i, unit);
        SpinUntil<Plan>(SpinSite::kPartials, params.workspace, [&] {
          if (Ready(words[i])) return true;
          words[i] = ptx::LoadRelaxed(address);
          return false;
        });
        sum.x += __uint_as_float(words[i].x);
        sum.y += __uint_as_float(words[i].y);
        sum.z += __uint_as_float(words[i].z);
        sum.w += __uint_as_float(words[i].w);
        ptx::StoreRelaxed(address, {kWorkspaceEmpty, kWorkspaceEmpty, kWorkspaceEmpty, kWorkspaceEmpty});
      }
    }
    return sum;
  }

  __device__ __forceinline__ void WriteOutput(u32 token, u32 row, float value) const {
    if (token >= params.tokens) return;
    u16 bits = static_cast<u16>(ptx::PackBf16(value, 0.0f));
    if constexpr (Plan::kAddResidual) {
      const u16 residual = params.residual[token * params.residual_stride + row];
      bits = static_cast<u16>(ptx::PackBf16(ptx::Bf16ToFloat(bits) + ptx::Bf16ToFloat(residual), 0.0f));
    }
    params.y[token * params.y_stride + row] = bits;
  }

  // Units are dealt to clusters first, then to warps, blocks of tokens outermost: even whatever the token count.
  __device__ __forceinline__ void ReduceAndWrite() const {
    const u32 units = CeilDiv(static_cast<int>(params.tokens), 8) * kStrips;
    for (u32 unit = cluster + warp * Plan::kNumClusters; unit < units; unit += kWarps * Plan::kNumClusters) {
      const u32 strip = unit % kStrips;
      const u32 tile = strip / kWarps % Smem::kDownTiles;
      const u32 row_in_pass = RowInPass(tile, strip % kWarps);
      const u32 token = Token(unit / kStrips);
      if (row_in_pass >= Plan::kDownRowsPerPass || token >= params.tokens) continue;
      const Float4 sum = SumUnit(unit);
      const u32 in_pass = row_in_pass + lane / 4;
      const u32 row = rank * Smem::kSliceRows + strip / (kWarps * Smem::kDownTiles) * Plan::kDownRowsPerPass + in_pass;
      if (in_pass < Plan::kDownRowsPerPass && row < Plan::kHidden) {
        WriteOutput(token, row, sum.x);
        WriteOutput(token + 1, row, sum.y);
      }
      if (in_pass + 8 < Plan::kDownRowsPerPass && row + 8 < Plan::kHidden) {
        WriteOutput(token, row + 8, sum.z);
        WriteOutput(token + 1, row + 8, sum.w);
      }
    }
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_
