// Fusebox kernel ffn_plain_gelu_erf_bf16_h520_i1000_bias_t16
// plan 6796f3209f9c55695dbf3c845624d1d9: c4x6 t16 up1x48x128/2 down1x88x64/c4 wg2 ring4/4+4 grid_gather
// reproduce: fusebox plan --hidden 520 --intermediate 1000 --activation gelu_erf --form plain --bias both --tokens 16
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 520;
  static constexpr int kIntermediate = 1000;
  static constexpr bool kGated = false;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kGeluErf;
  static constexpr fusebox::DType kDType = fusebox::DType::kBf16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kEngine;
  static constexpr bool kUpBias = true;
  static constexpr bool kDownBias = true;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kNone;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kNone;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kOutIn;
  static constexpr int kTokenTile = 16;
  static constexpr int kClusterSize = 4;
  static constexpr int kNumClusters = 6;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kWeights;
  static constexpr int kRingSlots = 4;
  static constexpr int kSlotsInFlight = 4;
  static constexpr int kActivationSlots = 4;
  static constexpr int kUpRowsPerPass = 48;
  static constexpr int kUpPasses = 1;
  static constexpr int kUpKPerSlot = 128;
  static constexpr int kUpKWarpgroups = 2;
  static constexpr int kDownRowsPerPass = 88;
  static constexpr int kDownPasses = 1;
  static constexpr int kDownKPerSlot = 64;
  static constexpr int kDownKWarpgroups = 1;
  static constexpr int kDownKCtas = 4;
  static constexpr bool kActivationMulticast = false;
  static constexpr fusebox::Edge kEdge = fusebox::Edge::kGridGather;
  static constexpr int kCombinePatienceCycles = 0;
  static constexpr int kProducerRegisters = 0;
  static constexpr int kConsumerRegisters = 0;
  static constexpr bool kBoundedSpins = false;
  static constexpr int kJitterSeed = 0;
};

static_assert(Plan::kTokenTile % 8 == 0, "kTokenTile must be a multiple of 8, the smallest N of wgmma");
static_assert(fusebox::DownPhase<Plan>::kK % 16 == 0, "h must be whole k16 steps of wgmma");
static_assert(Plan::kNumClusters * Plan::kClusterSize * fusebox::UpPhase<Plan>::kRowsPerCta >= Plan::kIntermediate, "rows left over");
static_assert(Plan::kConsumerWarpgroups % Plan::kUpKWarpgroups == 0, "k warpgroups must divide the consumers");
static_assert(fusebox::FfnSmem<Plan>::kTotal == 72392, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 97536, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
