// Fusebox kernel ffn_gated_gelu_tanh_fp16_h1024_i3072_rms_plus_one_sandwich_t128
// plan 009a7ceada985d534f403fd7d089f064: c4x16 t128 up2x24x64 down1x32x128/c2 wg2 ring4/4+3 token_rows multicast grid_gather
// reproduce: fusebox plan --hidden 1024 --intermediate 3072 --activation gelu_tanh --form gated --dtype fp16 --norm rms_plus_one --residual sandwich --tokens 128
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 1024;
  static constexpr int kIntermediate = 3072;
  static constexpr bool kGated = true;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kGeluTanh;
  static constexpr fusebox::DType kDType = fusebox::DType::kFp16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kEngine;
  static constexpr bool kUpBias = false;
  static constexpr bool kDownBias = false;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kRmsPlusOne;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kSandwich;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kOutIn;
  static constexpr int kTokenTile = 128;
  static constexpr int kClusterSize = 4;
  static constexpr int kNumClusters = 16;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kTokens;
  static constexpr int kRingSlots = 4;
  static constexpr int kSlotsInFlight = 4;
  static constexpr int kActivationSlots = 3;
  static constexpr int kUpRowsPerPass = 24;
  static constexpr int kUpPasses = 2;
  static constexpr int kUpKPerSlot = 64;
  static constexpr int kUpKWarpgroups = 1;
  static constexpr int kDownRowsPerPass = 32;
  static constexpr int kDownPasses = 1;
  static constexpr int kDownKPerSlot = 128;
  static constexpr int kDownKWarpgroups = 1;
  static constexpr int kDownKCtas = 2;
  static constexpr bool kActivationMulticast = true;
  static constexpr fusebox::Edge kEdge = fusebox::Edge::kGridGather;
  static constexpr int kCombinePatienceCycles = 0;
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = 232;
  static constexpr bool kBoundedSpins = false;
  static constexpr int kJitterSeed = 0;
};

static_assert(Plan::kTokenTile % 8 == 0, "kTokenTile must be a multiple of 8, the smallest N of wgmma");
static_assert(fusebox::DownPhase<Plan>::kK % 16 == 0, "h must be whole k16 steps of wgmma");
static_assert(Plan::kNumClusters * Plan::kClusterSize * fusebox::UpPhase<Plan>::kRowsPerCta >= Plan::kIntermediate, "rows left over");
static_assert(Plan::kConsumerWarpgroups % Plan::kUpKWarpgroups == 0, "k warpgroups must divide the consumers");
static_assert(fusebox::FfnSmem<Plan>::kTotal == 138496, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 5308416, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
