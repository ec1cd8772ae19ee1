#include "src/plan/work_list.h"

#include <algorithm>
#include <array>

#include "absl/types/span.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int kStripLines = 16;  // wgmma rows of one warp in a tile
constexpr int kBlockLines = 8;   // columns of one accumulator block
constexpr int kWarpsPerWarpgroup = 4;

// A phase whose activations are streamed beside its weights, all of k_begin .. k_end in every pass.
std::vector<WeightSlot> StreamedSlots(const PhasePartition& phase,
                                      absl::Span<const WeightMatrix> matrices, int64_t first_row,
                                      int64_t k_begin, int64_t k_end) {
  std::vector<WeightSlot> slots;
  for (int pass = 0; pass < phase.passes; ++pass) {
    const int64_t row_begin = first_row + int64_t{pass} * phase.rows_per_pass;
    for (int64_t k = k_begin; k < k_end; k += phase.k_per_slot) {
      WeightSlot slot{.pass = pass, .operand_begin = k};
      for (int64_t box_k = k; box_k < k + phase.k_per_slot; box_k += kBoxK) {
        for (const WeightMatrix matrix : matrices) {
          slot.boxes.push_back({.matrix = matrix,
                                .row_begin = row_begin,
                                .num_rows = phase.rows_per_pass,
                                .k_begin = box_k,
                                .used_k_end = box_k + kBoxK});
        }
      }
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

// Phase 2 over the cluster's chunk of h.
std::vector<WeightSlot> ChunkSlots(const FusionPlan& plan, CtaPlace place) {
  const int64_t chunk_begin = place.cluster * plan.chunk_rows();
  std::vector<WeightSlot> slots;
  for (int pass = 0; pass < plan.down.passes; ++pass) {
    const int64_t row_begin =
        place.rank * plan.down.rows_per_cta() + int64_t{pass} * plan.down.rows_per_pass;
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

int UnitsOfPass(const FusionPlan& plan) {
  const int row_groups = plan.consumer_warpgroups / plan.down.k_warpgroups;
  return TilesPerWarpgroup(plan, plan.down) * row_groups * kWarpsPerWarpgroup *
         BlocksOf(plan, plan.down);
}

// One unit of a pass: numbered block of columns outermost, then tile, then warp. `slice_begin`: the
// first output row of the CTA.
OutputUnit UnitOf(const FusionPlan& plan, int64_t slice_begin, int pass, int unit) {
  const int row_groups = plan.consumer_warpgroups / plan.down.k_warpgroups;
  const int warps = row_groups * kWarpsPerWarpgroup;
  const int strips = TilesPerWarpgroup(plan, plan.down) * warps;
  const int warp = unit % strips % warps;
  const int tile = unit % strips / warps;
  const int tile_index = warp / kWarpsPerWarpgroup + tile * row_groups;
  const int strip = tile_index * kWgmmaRows + warp % kWarpsPerWarpgroup * kStripLines;
  const int block = unit / strips * kBlockLines;
  const bool tokens_are_rows = plan.mma_rows == MmaRows::kTokens;
  const int64_t in_pass = tokens_are_rows ? block : strip;
  const int64_t row = slice_begin + int64_t{pass} * plan.down.rows_per_pass + in_pass;
  const int64_t rows_left =
      std::min(plan.down.rows_per_pass - in_pass, plan.problem.hidden.value() - row);
  return {
      .row_begin = row,
      .num_rows = std::clamp<int64_t>(rows_left, 0, tokens_are_rows ? kBlockLines : kStripLines),
      .token_begin = tokens_are_rows ? strip : block,
      .num_tokens = tokens_are_rows ? kStripLines : kBlockLines};
}

// Each pass's units are dealt to the `num_sharers` CTAs with the same output rows in turn; where
// CTAs split k, one further with each block.
std::vector<OutputUnit> OutputUnits(const FusionPlan& plan, int64_t slice_begin, int sharer,
                                    int num_sharers) {
  const int strips = UnitsOfPass(plan) / BlocksOf(plan, plan.down);
  std::vector<OutputUnit> units;
  for (int pass = 0; pass < plan.down.passes; ++pass) {
    for (int unit = 0; unit < UnitsOfPass(plan); ++unit) {
      const int turn = plan.down.k_ctas > 1 ? unit / strips + unit % strips : unit;
      if (turn % num_sharers == sharer) units.push_back(UnitOf(plan, slice_begin, pass, unit));
    }
  }
  return units;
}

}  // namespace

CtaWork WorkOf(const FusionPlan& plan, CtaPlace place) {
  constexpr std::array kGateUp = {WeightMatrix::kGate, WeightMatrix::kUp};
  constexpr std::array kDown = {WeightMatrix::kDown};
  const absl::Span<const WeightMatrix> up_matrices = plan.problem.form == FfnForm::kGated
                                                         ? absl::MakeConstSpan(kGateUp)
                                                         : absl::MakeConstSpan(kGateUp).subspan(1);
  const int64_t cta = int64_t{place.cluster} * plan.cluster_size + place.rank;
  CtaWork work;
  work.slice_begin = cta * plan.up.rows_per_cta();
  work.slice_rows = plan.up.rows_per_cta();
  work.up = StreamedSlots(plan.up, up_matrices, work.slice_begin, 0, plan.problem.hidden.value());
  if (plan.gathers_over_grid()) {
    work.output_begin = cta / plan.down.k_ctas * plan.down.rows_per_cta();
    const int part = place.rank % plan.down.k_ctas;
    const int64_t k_begin = part * plan.down_k_part();
    work.down =
        StreamedSlots(plan.down, kDown, work.output_begin, k_begin, k_begin + plan.down_k_part());
    work.outputs = OutputUnits(plan, work.output_begin, part, plan.down.k_ctas);
  } else {
    work.output_begin = place.rank * plan.down.rows_per_cta();
    work.down = ChunkSlots(plan, place);
    work.outputs = OutputUnits(plan, work.output_begin, place.cluster, plan.num_clusters);
  }
  return work;
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
