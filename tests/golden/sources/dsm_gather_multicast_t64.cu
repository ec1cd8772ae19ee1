// Fusebox kernel ffn_gated_silu_bf16_h4096_i11008_t64
// plan 3f9e060cb31775be9fa9e755efb584b5: c8x15 t64 up1x96x64 down2x256x64 wg2 ring3/2+4 p50000 multicast dsm_gather
// reproduce: fusebox plan --hidden 4096 --intermediate 11008 --activation silu --form gated --tokens 64
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 4096;
  static constexpr int kIntermediate = 11008;
  static constexpr bool kGated = true;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kSilu;
  static constexpr fusebox::DType kDType = fusebox::DType::kBf16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kEngine;
  static constexpr bool kUpBias = false;
  static constexpr bool kDownBias = false;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kNone;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kNone;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kOutIn;
  static constexpr int kTokenTile = 64;
  static constexpr int kClusterSize = 8;
  static constexpr int kNumClusters = 15;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kWeights;
  static constexpr int kRingSlots = 3;
  static constexpr int kSlotsInFlight = 2;
  static constexpr int kActivationSlots = 4;
  static constexpr int kUpRowsPerPass = 96;
  static constexpr int kUpPasses = 1;
  static constexpr int kUpKPerSlot = 64;
  static constexpr int kUpKWarpgroups = 1;
  static constexpr int kDownRowsPerPass = 256;
  static constexpr int kDownPasses = 2;
  static constexpr int kDownKPerSlot = 64;
  static constexpr int kDownKWarpgroups = 1;
  static constexpr int kDownKCtas = 1;
  static constexpr bool kActivationMulticast = true;
  static constexpr fusebox::Edge kEdge = fusebox::Edge::kDsmGather;
  static constexpr int kCombinePatienceCycles = 50000;
  static constexpr int kProducerRegisters = 88;
  static constexpr int kConsumerRegisters = 208;
  static constexpr bool kBoundedSpins = false;
  static constexpr int kJitterSeed = 0;
};

static_assert(Plan::kTokenTile % 8 == 0, "kTokenTile must be a multiple of 8, the smallest N of wgmma");
static_assert(fusebox::DownPhase<Plan>::kK % 16 == 0, "h must be whole k16 steps of wgmma");
static_assert(Plan::kNumClusters * Plan::kClusterSize * fusebox::UpPhase<Plan>::kRowsPerCta >= Plan::kIntermediate, "rows left over");
static_assert(Plan::kConsumerWarpgroups % Plan::kUpKWarpgroups == 0, "k warpgroups must divide the consumers");
static_assert(fusebox::FfnSmem<Plan>::kTotal == 230528, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 15794176, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
