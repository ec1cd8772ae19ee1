// Where one CTA of the ffn kernel keeps things in dynamic shared memory: offsets in bytes from a
// 1024-byte aligned base. Must equal src/plan/footprint.h; the entry file asserts the total, a test
// compares every offset.
#ifndef FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox {

// Elements: 128 bytes, the inner width of every TMA box and of the swizzle.
constexpr int kBoxK = 64;
constexpr int kBoxRowBytes = 128;
constexpr int kWgmmaRows = 64;
constexpr int kWgmmaK = 16;
constexpr int kFragmentBytes = 16;  // what one thread holds of a 64 x 8 accumulator block
constexpr int kSmemAlignment = 1024;

template <typename Plan>
struct FfnSmem {
  static constexpr int kUpMatrices = Plan::kGated ? 2 : 1;
  static constexpr int kRowWarpgroups = Plan::kConsumerWarpgroups / Plan::kUpKWarpgroups;
  static constexpr int kUpRowTiles = CeilDiv(Plan::kUpRowsPerCta, kWgmmaRows);
  // Row tiles of one warpgroup, of a matrix; below, of a pass.
  static constexpr int kUpTiles = CeilDiv(kUpRowTiles, kRowWarpgroups);
  static constexpr int kDownRowTiles = CeilDiv(Plan::kDownRowsPerPass, kWgmmaRows);
  static constexpr int kDownTiles = CeilDiv(kDownRowTiles, Plan::kConsumerWarpgroups);
  static constexpr int kChunkRows = Plan::kClusterSize * Plan::kUpRowsPerCta;
  static constexpr int kSliceRows = Plan::kDownPasses * Plan::kDownRowsPerPass;

  // One box of gate, or of up.
  static constexpr int kUpBoxBytes = Plan::kUpRowsPerCta * kBoxRowBytes;
  static constexpr int kUpSlotBytes = kUpMatrices * kUpBoxBytes * (Plan::kUpKPerSlot / kBoxK);
  static constexpr int kDownBoxBytes = Plan::kDownRowsPerPass * kBoxRowBytes;
  static constexpr int kDownSlotBytes = kDownBoxBytes * (Plan::kDownKPerSlot / kBoxK);
  static constexpr int kSlotBytes = RoundUp(Max(kUpSlotBytes, kDownSlotBytes), kSmemAlignment);
  static constexpr int kActivationBoxBytes = Plan::kTokenTile * kBoxRowBytes;
  static constexpr int kActivationSlotBytes = kActivationBoxBytes * (Plan::kUpKPerSlot / kBoxK);
  static constexpr int kGranuleBytes = Plan::kTokenTile * 16;  // h: 8 columns of every token
  static constexpr int kSliceBytes = Plan::kUpRowsPerCta / 8 * kGranuleBytes;  // h of one CTA
  static constexpr int kExchangeBytes = (Plan::kUpKWarpgroups - 1) * kRowWarpgroups * kUpTiles *
                                        kUpMatrices * (Plan::kTokenTile / 8) * kWarpgroupThreads *
                                        kFragmentBytes;

  static constexpr int kRing = 0;
  static constexpr int kActivations = kRing + Plan::kRingSlots * kSlotBytes;
  static constexpr int kIntermediate = kActivations + Plan::kActivationSlots * kActivationSlotBytes;
  static constexpr int kExchange = kIntermediate + Plan::kClusterSize * kSliceBytes;
  static constexpr int kScratch = kExchange + kExchangeBytes;  // norms: a float a consumer warp
  static constexpr int kBarriers = kScratch + (Plan::kHasNorm ? 64 : 0);
  static constexpr int kNumBarriers = 2 * Plan::kRingSlots + 2 * Plan::kActivationSlots +
                                      Plan::kDownPasses + (Plan::kHasNorm ? 1 : 0);
  // With slack to align the base.
  static constexpr int kTotal = kBarriers + kNumBarriers * 8 + kSmemAlignment;

  // A tile of 64 rows at the end of a slot may read past it; what it reads is dropped, but must be
  // shared memory.
  static constexpr int kOverread =
      kBoxRowBytes * Max(kUpRowTiles * kWgmmaRows - Plan::kUpRowsPerCta,
                         kDownRowTiles* kWgmmaRows - Plan::kDownRowsPerPass);
  static_assert(kActivations + kOverread <= kTotal - kSmemAlignment,
                "tile_overread: the last slot's tile would read past the allocation");
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_TILE_FFN_SMEM_CUH_
