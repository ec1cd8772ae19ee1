// The two phases of the ffn kernel as constants: how a CTA works through each matrix. Rows are
// outputs of the matrix, k is what is summed over.
#ifndef FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_PHASE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_PHASE_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox {

// How h gets from the CTAs that make it to those that need it.
enum class Edge { kDsmGather, kGridGather };

// Which operand has the rows of wgmma, 64 of them an instruction; the other one's lines are its
// columns, any multiple of 8 up to 256. Weights: few tokens waste nothing. Tokens: a gate row and
// an up row need no tile of 64 of their own.
enum class MmaRows { kWeights, kTokens };

// How weight matrices lie in memory: a row for each output, or a row for each input.
enum class WeightLayout { kOutIn, kInOut };

// Elements: 128 bytes, the inner width of every TMA box and of the swizzle.
constexpr int kBoxK = 64;
constexpr int kBoxRowBytes = 128;
constexpr int kWgmmaRows = 64;
constexpr int kWgmmaK = 16;
// 64 rows x 64 k elements: layout out_in's boxes hold some of them, in_out's one each.
constexpr int kTileBytes = kWgmmaRows * kBoxRowBytes;

template <typename Plan, int kMatricesOf, int kRowsOf, int kPassesOf, int kKPerSlotOf,
          int kKWarpgroupsOf, int kKCtasOf, int kKOf>
struct FfnPhase {
  static_assert(kRowsOf % 8 == 0, "rows of a pass must be a multiple of 8, a swizzle atom");
  static constexpr int kMatrices = kMatricesOf;  // gate and up, or one
  static constexpr int kRowsPerPass = kRowsOf;
  static constexpr int kPasses = kPassesOf;
  static constexpr int kRowsPerCta = kRowsPerPass * kPasses;
  static constexpr int kKPerSlot = kKPerSlotOf;
  static constexpr int kKWarpgroups = kKWarpgroupsOf;
  static constexpr int kKCtas = kKCtasOf;  // CTAs of a cluster that split k, neighbours in rank
  static constexpr int kK = kKOf;          // k elements of a pass of one CTA, zero fill included
  // CTAs of a cluster that multiply the same part of the activation.
  static constexpr int kSharers = Plan::kClusterSize / kKCtas;
  static constexpr bool kMulticasts = Plan::kActivationMulticast && kSharers > 1;

  static constexpr int kRowWarpgroups = Plan::kConsumerWarpgroups / kKWarpgroups;
  static constexpr bool kTokensAreRows = Plan::kMmaRows == MmaRows::kTokens;
  // Tiles of 64 wgmma rows: of a matrix's weights, or of the tokens; and those of one warpgroup.
  static constexpr int kRowTiles =
      kTokensAreRows ? Plan::kTokenTile / kWgmmaRows : CeilDiv(kRowsPerPass, kWgmmaRows);
  static constexpr int kTiles = CeilDiv(kRowTiles, kRowWarpgroups);
  // Blocks of 8 wgmma columns: of the tokens, or of a matrix's weights.
  static constexpr int kBlocks = (kTokensAreRows ? kRowsPerPass : Plan::kTokenTile) / 8;
  static constexpr int kBoxBytes = kRowsPerPass * kBoxRowBytes;  // 64 k elements of a matrix
  static constexpr int kSlotBytes = kMatrices * kBoxBytes * (kKPerSlot / kBoxK);
  // Fp32 sums of a pass.
  static constexpr int kPassBytes =
      kRowWarpgroups * kTiles * kBlocks * kWarpgroupThreads * kFragmentBytes;
  // Sums that warpgroups which split k hand over.
  static constexpr int kExchangeBytes = (kKWarpgroups - 1) * kMatrices * kPassBytes;
};

template <typename Plan>
using UpPhase =
    FfnPhase<Plan, Plan::kGated ? 2 : 1, Plan::kUpRowsPerPass, Plan::kUpPasses, Plan::kUpKPerSlot,
             Plan::kUpKWarpgroups, 1, RoundUp(Plan::kHidden, Plan::kUpKPerSlot)>;

// Dsm gather: over the cluster's chunk of h. Grid gather: over all of h, or one of the equal parts
// that CTAs of a cluster split it into.
template <typename Plan>
using DownPhase =
    FfnPhase<Plan, 1, Plan::kDownRowsPerPass, Plan::kDownPasses, Plan::kDownKPerSlot,
             Plan::kDownKWarpgroups, Plan::kDownKCtas,
             Plan::kEdge == Edge::kGridGather
                 ? RoundUp(CeilDiv(Plan::kIntermediate, Plan::kDownKCtas), Plan::kDownKPerSlot)
                 : Plan::kClusterSize * UpPhase<Plan>::kRowsPerCta>;

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_PHASE_CUH_
