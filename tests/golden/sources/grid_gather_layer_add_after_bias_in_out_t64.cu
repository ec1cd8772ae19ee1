// Fusebox kernel ffn_plain_gelu_tanh_bf16_h768_i3072_layer_add_after_bias_in_out_t64
// plan e2a6b740093468297fcc9815460cb001: c4x6 t64 up2x64x128/2 down1x64x64/2 wg2 ring4/4+4 grid_gather
// reproduce: fusebox plan --hidden 768 --intermediate 3072 --activation gelu_tanh --form plain --norm layer --residual add_after --bias both --layout in_out --tokens 64
#include "kernels_templates/kernels/ffn.cuh"

namespace {

struct Plan {
  static constexpr int kHidden = 768;
  static constexpr int kIntermediate = 3072;
  static constexpr bool kGated = false;
  static constexpr fusebox::Activation kActivation = fusebox::Activation::kGeluTanh;
  static constexpr fusebox::DType kDType = fusebox::DType::kBf16;
  static constexpr fusebox::Rounding kRounding = fusebox::Rounding::kEngine;
  static constexpr bool kUpBias = true;
  static constexpr bool kDownBias = true;
  static constexpr fusebox::Norm kNorm = fusebox::Norm::kLayer;
  static constexpr bool kHasNorm = kNorm != fusebox::Norm::kNone;
  static constexpr fusebox::ResidualMode kResidualMode = fusebox::ResidualMode::kAddAfter;
  static constexpr fusebox::WeightLayout kLayout = fusebox::WeightLayout::kInOut;
  static constexpr int kTokenTile = 64;
  static constexpr int kClusterSize = 4;
  static constexpr int kNumClusters = 6;
  static constexpr int kConsumerWarpgroups = 2;
  static constexpr fusebox::MmaRows kMmaRows = fusebox::MmaRows::kWeights;
  static constexpr int kRingSlots = 4;
  static constexpr int kSlotsInFlight = 4;
  static constexpr int kActivationSlots = 4;
  static constexpr int kUpRowsPerPass = 64;
  static constexpr int kUpPasses = 2;
  static constexpr int kUpKPerSlot = 128;
  static constexpr int kUpKWarpgroups = 2;
  static constexpr int kDownRowsPerPass = 64;
  static constexpr int kDownPasses = 1;
  static constexpr int kDownKPerSlot = 64;
  static constexpr int kDownKWarpgroups = 2;
  static constexpr int kDownKCtas = 1;
  static constexpr bool kActivationMulticast = false;
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
static_assert(fusebox::FfnSmem<Plan>::kTotal == 156872, "footprint: host and device disagree");
static_assert(fusebox::FfnWorkspace<Plan>::kTotal == 1048576, "workspace: host and device disagree");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
    fusebox_ffn(const __grid_constant__ fusebox::FfnParams params) {
  fusebox::RunFfn<Plan>(params);
}
