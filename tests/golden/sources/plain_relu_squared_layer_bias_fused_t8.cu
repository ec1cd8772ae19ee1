// Fusebox kernel ffn_plain_relu_squared_bf16_h1024_i2048_layer_add_before_norm_bias_fused_t8
// plan 1a3ab5d7ba557706a43352512c972a0d: c8x4 t8 up1x64x128 down1x128x64 wg2 ring4/4+4 dsm_gather
// reproduce: fusebox plan --hidden 1024 --intermediate 2048 --activation relu_squared --form plain --norm layer --residual add_before_norm --bias both --rounding fused --tokens 8
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 1024;
  static constexpr int kIntermediate = 2048;
  static constexpr bool kGated = false;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kReluSquared;
  static constexpr fusebox::DType kDType = fusebox::DType::kBf16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kFused;
  static constexpr bool kUpBias = true;
  static constexpr bool kDownBias = true;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kLayer;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kAddBeforeNorm;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kOutIn;
  static constexpr int kTokenTile = 8;
  static constexpr int kClusterSize = 8;
  static constexpr int kNumClusters = 4;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kWeights;
  static constexpr int kRingSlots = 4;
  static constexpr int kSlotsInFlight = 4;
  static constexpr int kActivationSlots = 4;
  static constexpr int kUpRowsPerPass = 64;
  static constexpr int kUpPasses = 1;
  static constexpr int kUpKPerSlot = 128;
  static constexpr int kUpKWarpgroups = 1;
  static constexpr int kDownRowsPerPass = 128;
  static constexpr int kDownPasses = 1;
  static constexpr int kDownKPerSlot = 64;
  static constexpr int kDownKWarpgroups = 1;
  static constexpr int kDownKCtas = 1;
  static constexpr bool kActivationMulticast = false;
  static constexpr fusebox::Edge kEdge = fusebox::Edge::kDsmGather;
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
static_assert(fusebox::FfnSmem<Plan>::kTotal == 83152, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 327680, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
