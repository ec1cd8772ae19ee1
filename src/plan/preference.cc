#include "src/plan/preference.h"

#include <algorithm>
#include <cstdlib>

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int kFavouredCluster = 8;  // of 546 plans measured on an H200 the best 8 of 10 problems'
// Grid gather: of 68 pairs of measured plans that differ in nothing else 54 were faster than with
// 8, the median by 1.5 % (tests/plan/measured_tiles.jsonl).
constexpr int kFavouredGridCluster = 4;
constexpr int kFavouredK = 128;               // 256-byte row segments: 1 to 2 % over 128-byte ones
constexpr int kRoomySlots = 4;                // of the ring; with 3 the edge is not hidden as well
constexpr double kBusyShare = 0.9;            // of the CTAs that could be resident
constexpr int64_t kFavouredBytes = 88 << 10;  // in flight a CTA: where queueing begins

}  // namespace

Preference PreferenceOf(const FusionPlan& plan, const DeviceSpec& device) {
  const bool one_tile = plan.up.rows_per_pass <= kWgmmaRows;
  // One tile of rows leaves the second warpgroup nothing but a share of k; more need no sharing.
  const bool shares_well = (plan.up.k_warpgroups > 1) == one_tile;
  // Sharing the combine's work pays where there is much of it, and delays it where there is little.
  const bool patient = plan.combine_patience_cycles > 0;
  const bool patience_fits = patient == (plan.token_tile > 8);
  // Whole wgmma tiles of rows ran up to 3 % better, where they did not leave many SMs idle.
  const int resident = device.FindCluster(plan.cluster_size)->resident_ctas;
  const bool whole_tiles =
      plan.up.rows_per_pass % kWgmmaRows == 0 && plan.grid_ctas() >= kBusyShare * resident;
  const int64_t in_flight = plan.slots_in_flight * std::max(UpSlotBytes(plan), DownSlotBytes(plan));
  const int favoured = plan.gathers_over_grid() ? kFavouredGridCluster : kFavouredCluster;
  return {std::abs(plan.cluster_size - favoured),
          std::abs(plan.up.k_per_slot - kFavouredK),
          shares_well ? 0 : 1,
          patience_fits ? 0 : 1,
          whole_tiles ? 0 : 1,
          plan.up.rows_per_pass,
          plan.ring_slots >= kRoomySlots ? 0 : 1,
          plan.slots_in_flight > 1 ? 0 : 1,
          std::abs(in_flight - kFavouredBytes),
          std::abs(UpSlotBytes(plan) - DownSlotBytes(plan)),  // unused bytes of each slot
          plan.down.passes};
}

}  // namespace fusebox
