// Where one CTA of the ffn kernel keeps things in dynamic shared memory: offsets in bytes from a
// 1024-byte aligned base. Must equal src/plan/footprint.h; the entry file asserts the total, a test
// compares every offset.
#ifndef FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_

#include "kernels_templates/tile/ffn_phase.cuh"

namespace fusebox {

constexpr int kSmemAlignment = 1024;

template <typename Plan>
struct FfnSmem {
  using Up = UpPhase<Plan>;
  using Down = DownPhase<Plan>;
  static constexpr bool kGrid = Plan::kEdge == Edge::kGridGather;

  static constexpr int kSlotBytes = RoundUp(Max(Up::kSlotBytes, Down::kSlotBytes), kSmemAlignment);
  static constexpr int kActivationBoxBytes = Plan::kTokenTile * kBoxRowBytes;
  static constexpr int kActivationSlotBytes =
      kActivationBoxBytes * (Max(Up::kKPerSlot, kGrid ? Down::kKPerSlot : 0) / kBoxK);
  static constexpr int kGranuleBytes = Plan::kTokenTile * 16;  // h: 8 columns of every token
  static constexpr int kSliceBytes = Up::kRowsPerPass / 8 * kGranuleBytes;  // of one CTA and pass
  static constexpr int kExchangeBytes = Max(Up::kExchangeBytes, Down::kExchangeBytes);

  static constexpr int kRing = 0;
  static constexpr int kActivations = kRing + Plan::kRingSlots * kSlotBytes;
  static constexpr int kIntermediate = kActivations + Plan::kActivationSlots * kActivationSlotBytes;
  static constexpr int kExchange = kIntermediate + (kGrid ? 1 : Plan::kClusterSize) * kSliceBytes;
  static constexpr int kScratch = kExchange + kExchangeBytes;  // norms: a float a consumer warp
  static constexpr int kBarriers = kScratch + (Plan::kHasNorm ? 64 : 0);
  static constexpr int kRingBarriers = 2 * Plan::kRingSlots;
  static constexpr int kActivationBarriers = 2 * Plan::kActivationSlots;
  // Dsm gather: h, stored[passes - 1]. Where CTAs split k: space, received[warps with sums].
  static constexpr int kEdgeBarriers = !kGrid             ? Plan::kDownPasses
                                       : Down::kKCtas > 1 ? 1 + Down::kRowWarpgroups * 4
                                                          : 0;
  static constexpr int kNumBarriers =
      kRingBarriers + kActivationBarriers + kEdgeBarriers + (Plan::kHasNorm ? 1 : 0);
  // With slack to align the base.
  static constexpr int kTotal = kBarriers + kNumBarriers * 8 + kSmemAlignment;

  // Where CTAs split k of phase 2 the rings, idle by then, receive their sums: of a pass's
  // fragments each CTA finishes an equal part.
  static constexpr int kReceivedBytes = (Down::kKCtas - 1) * Down::kPassBytes / Down::kKCtas;
  static_assert(kReceivedBytes <= kIntermediate,
                "sums_fit: the rings are smaller than the sums that they receive");

  // A tile of 64 rows at the end of a slot may read past it; what it reads is dropped, but must be
  // shared memory.
  static constexpr int kOverread =
      Up::kTokensAreRows ? 0
                         : kBoxRowBytes * Max(Up::kRowTiles * kWgmmaRows - Up::kRowsPerPass,
                                              Down::kRowTiles* kWgmmaRows - Down::kRowsPerPass);
  static_assert(kActivations + kOverread <= kTotal - kSmemAlignment,
                "tile_overread: the last slot's tile would read past the allocation");
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_
