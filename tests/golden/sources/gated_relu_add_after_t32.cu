// Fusebox kernel ffn_gated_relu_bf16_h1024_i2048_add_after_t32
// plan 6bba4947c9c3e4782897e26c721aeebd: c1x32 t32 up1x64x128/2 down8x128x64 wg2 ring3/3+3 p1000 dsm_gather
// reproduce: fusebox plan --hidden 1024 --intermediate 2048 --activation relu --form gated --residual add_after --tokens 32
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 1024;
  static constexpr int kIntermediate = 2048;
  static constexpr bool kGated = true;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kRelu;
  static constexpr fusebox::DType kDType = fusebox::DType::kBf16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kEngine;
  static constexpr bool kUpBias = false;
  static constexpr bool kDownBias = false;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kNone;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kAddAfter;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kOutIn;
  static constexpr int kTokenTile = 32;
  static constexpr int kClusterSize = 1;
  static constexpr int kNumClusters = 32;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kWeights;
  static constexpr int kRingSlots = 3;
  static constexpr int kSlotsInFlight = 3;
  static constexpr int kActivationSlots = 3;
  static constexpr int kUpRowsPerPass = 64;
  static constexpr int kUpPasses = 1;
  static constexpr int kUpKPerSlot = 128;
  static constexpr int kUpKWarpgroups = 2;
  static constexpr int kDownRowsPerPass = 128;
  static constexpr int kDownPasses = 8;
  static constexpr int kDownKPerSlot = 64;
  static constexpr int kDownKWarpgroups = 1;
  static constexpr int kDownKCtas = 1;
  static constexpr bool kActivationMulticast = false;
  static constexpr fusebox::Edge kEdge = fusebox::Edge::kDsmGather;
  static constexpr int kCombinePatienceCycles = 1000;
  static constexpr int kProducerRegisters = 0;
  static constexpr int kConsumerRegisters = 0;
  static constexpr bool kBoundedSpins = false;
  static constexpr int kJitterSeed = 0;
};

static_assert(Plan::kTokenTile % 8 == 0, "kTokenTile must be a multiple of 8, the smallest N of wgmma");
static_assert(fusebox::DownPhase<Plan>::kK % 16 == 0, "h must be whole k16 steps of wgmma");
static_assert(Plan::kNumClusters * Plan::kClusterSize * fusebox::UpPhase<Plan>::kRowsPerCta >= Plan::kIntermediate, "rows left over");
static_assert(Plan::kConsumerWarpgroups % Plan::kUpKWarpgroups == 0, "k warpgroups must divide the consumers");
static_assert(fusebox::FfnSmem<Plan>::kTotal == 144544, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 4259840, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
