// Where a launch of the ffn keeps things in the caller's workspace: offsets in bytes. Must equal
// src/plan/footprint.h; the entry file asserts the total.
// Between launches report and counters are zero; the rest holds whatever was last left there.
#ifndef FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_WORKSPACE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_WORKSPACE_CUH_

#include "kernels_templates/tile/ffn_smem.cuh"

namespace fusebox {

enum class Norm { kNone, kRms, kRmsPlusOne, kLayer };
enum class ResidualMode { kNone, kAddBeforeNorm, kAddAfter, kSandwich };

template <typename Plan>
struct FfnWorkspace {
  using Smem = FfnSmem<Plan>;
  static constexpr int kReportBytes = 1024;
  static constexpr int kCounterBytes = 64512;  // one word a unit, and
  static constexpr int kBlockCounters = 16;    // the last ones for blocks of 8 tokens (sandwich)
  // Fp32 partial sums of one CTA; with grid gather the sums are whole, and h is here.
  static constexpr i64 kCtaPartialBytes =
      Smem::kGrid ? 0
                  : i64{Plan::kDownPasses} * Plan::kConsumerWarpgroups * Smem::Down::kTiles *
                        (Plan::kTokenTile / 8) * kWarpgroupThreads * kFragmentBytes;
  static constexpr i64 kGatheredBytes =
      Smem::kGrid ? i64{Plan::kTokenTile} * Plan::kIntermediate * 2 : 0;
  static constexpr i64 kRowsBytes = i64{Plan::kTokenTile} * Plan::kHidden * 2;  // tokens' rows
  static constexpr bool kHasNorm = Plan::kNorm != Norm::kNone;
  static constexpr bool kHasSums = Plan::kResidualMode == ResidualMode::kAddBeforeNorm;
  static constexpr bool kHasOutputs = Plan::kResidualMode == ResidualMode::kSandwich;

  static constexpr i64 kCounters = kReportBytes;
  static constexpr i64 kPartials = kCounters + kCounterBytes;
  static constexpr i64 kGathered =
      kPartials + kCtaPartialBytes * Plan::kClusterSize * Plan::kNumClusters;
  // Each cluster's own copy of the normalised rows, and of x + residual where y needs it later.
  static constexpr i64 kNormalized = kGathered + kGatheredBytes;
  static constexpr i64 kSums = kNormalized + (kHasNorm ? kRowsBytes * Plan::kNumClusters : 0);
  // The op's output before its own norm.
  static constexpr i64 kOutputs = kSums + (kHasSums ? kRowsBytes * Plan::kNumClusters : 0);
  static constexpr i64 kTotal = kOutputs + (kHasOutputs ? kRowsBytes : 0);
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_WORKSPACE_CUH_
