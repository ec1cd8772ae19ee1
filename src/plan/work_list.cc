#include "src/plan/work_list.h"

#include <algorithm>

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int kStripRows = 16;   // output rows of one warp in a tile
constexpr int kBlockTokens = 8;  // tokens of one accumulator block
constexpr int kWarpsPerWarpgroup = 4;

std::vector<WeightSlot> UpSlots(const FusionPlan& plan, int64_t row_begin) {
  const bool is_gated = plan.problem.form == FfnForm::kGated;
  std::vector<WeightSlot> slots;
  for (int64_t k = 0; k < plan.problem.hidden.value(); k += plan.up.k_per_slot) {
    WeightSlot slot{.operand_begin = k};
    for (int64_t box_k = k; box_k < k + plan.up.k_per_slot; box_k += kBoxK) {
      WeightBox box{.row_begin = row_begin,
                    .num_rows = plan.up.rows_per_cta,
                    .k_begin = box_k,
                    .used_k_end = box_k + kBoxK};
      if (is_gated) {
        box.matrix = WeightMatrix::kGate;
        slot.boxes.push_back(box);
      }
      box.matrix = WeightMatrix::kUp;
      slot.boxes.push_back(box);
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<WeightSlot> DownSlots(const FusionPlan& plan, CtaPlace place) {
  const int64_t chunk_begin = place.cluster * plan.chunk_rows();
  std::vector<WeightSlot> slots;
  for (int pass = 0; pass < plan.down.passes; ++pass) {
    const int64_t row_begin =
        place.rank * plan.slice_rows() + int64_t{pass} * plan.down.rows_per_pass;
    for (int64_t column = 0; column < plan.chunk_rows(); column += plan.down.k_per_slot) {
      WeightSlot slot{.pass = pass, .operand_begin = column};
      const int64_t slot_end = std::min<int64_t>(column + plan.down.k_per_slot, plan.chunk_rows());
      for (int64_t box_column = column; box_column < slot_end; box_column += kBoxK) {
        const int64_t used_end = std::min<int64_t>(box_column + kBoxK, slot_end);
        slot.boxes.push_back({.matrix = WeightMatrix::kDown,
                              .row_begin = row_begin,
                              .num_rows = plan.down.rows_per_pass,
                              .k_begin = chunk_begin + box_column,
                              .used_k_end = chunk_begin + used_end});
      }
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

// One unit of a pass: numbered token block outermost, then tile, then warp.
OutputUnit UnitOf(const FusionPlan& plan, int rank, int pass, int unit) {
  const int warps = plan.consumer_warpgroups * kWarpsPerWarpgroup;
  const int strips = DownTilesPerWarpgroup(plan) * warps;
  const int warp = unit % strips % warps;
  const int tile = unit % strips / warps;
  const int tile_index = warp / kWarpsPerWarpgroup + tile * plan.consumer_warpgroups;
  const int64_t in_pass = int64_t{tile_index} * kWgmmaRows + warp % kWarpsPerWarpgroup * kStripRows;
  const int64_t row = rank * plan.slice_rows() + int64_t{pass} * plan.down.rows_per_pass + in_pass;
  const int64_t rows_left =
      std::min(plan.down.rows_per_pass - in_pass, plan.problem.hidden.value() - row);
  return {.row_begin = row,
          .num_rows = std::clamp<int64_t>(rows_left, 0, kStripRows),
          .token_begin = unit / strips * kBlockTokens};
}

// Each pass's units are dealt to the clusters in turn.
std::vector<OutputUnit> OutputUnits(const FusionPlan& plan, CtaPlace place) {
  const int units_of_pass = DownTilesPerWarpgroup(plan) * plan.consumer_warpgroups *
                            kWarpsPerWarpgroup * (plan.token_tile / kBlockTokens);
  std::vector<OutputUnit> units;
  for (int pass = 0; pass < plan.down.passes; ++pass) {
    for (int unit = place.cluster; unit < units_of_pass; unit += plan.num_clusters) {
      units.push_back(UnitOf(plan, place.rank, pass, unit));
    }
  }
  return units;
}

}  // namespace

CtaWork WorkOf(const FusionPlan& plan, CtaPlace place) {
  const int64_t slice_begin = int64_t{place.rank} * plan.up.rows_per_cta;
  return {.up = UpSlots(plan, place.cluster * plan.chunk_rows() + slice_begin),
          .down = DownSlots(plan, place),
          .slice_begin = slice_begin,
          .slice_rows = plan.up.rows_per_cta,
          .outputs = OutputUnits(plan, place)};
}

std::string_view ToString(WeightMatrix matrix) {
  switch (matrix) {
    case WeightMatrix::kGate:
      return "gate";
    case WeightMatrix::kUp:
      return "up";
    case WeightMatrix::kDown:
      return "down";
  }
  return "unknown";
}

}  // namespace fusebox
