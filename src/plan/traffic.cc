#include "src/plan/traffic.h"

#include <algorithm>

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;

// Shared-memory bytes of `wgmmas` instructions: A is 64 x 16, B is columns x 16, each read once.
int64_t MmaSmemBytes(int64_t wgmmas, int64_t columns) {
  return wgmmas * (kWgmmaRows + columns) * kWgmmaK * kElementBytes;
}

// A phase whose activations are streamed beside its weights: `matrices` of [rows, total_k].
PhaseTraffic StreamedTraffic(const FusionPlan& plan, const PhasePartition& phase, int64_t matrices,
                             int64_t rows, int64_t total_k) {
  const int64_t k = CeilDiv(total_k, phase.k_ctas);  // of one CTA
  PhaseTraffic t;
  t.hbm_bytes = matrices * rows * total_k * kElementBytes;
  t.widest_cta_bytes = matrices * std::min(phase.rows_per_cta(), rows) * k * kElementBytes;
  t.activation_bytes =
      int64_t{plan.grid_ctas()} * phase.passes * plan.token_tile * k * kElementBytes;
  t.slots = phase.passes * CeilDiv(k, phase.k_per_slot);
  t.boxes = t.slots * (phase.k_per_slot / kBoxK) * matrices;
  t.slot_bytes = matrices * phase.rows_per_pass * phase.k_per_slot * kElementBytes;
  int64_t joined = 1;  // matrices of one instruction
  t.wgmma_columns = plan.token_tile;
  if (plan.mma_rows == MmaRows::kTokens) {
    if (matrices * phase.rows_per_pass <= kMaxWgmmaColumns) joined = matrices;
    t.wgmma_columns = joined * phase.rows_per_pass;
  }
  t.wgmmas = t.slots * (phase.k_per_slot / kWgmmaK) * RowTilesOf(plan, phase) * matrices / joined;
  t.wgmma_chain = t.slots * (phase.k_per_slot / kWgmmaK / phase.k_warpgroups) *
                  TilesPerWarpgroup(plan, phase) * matrices / joined;
  t.smem_bytes =
      t.slots * (t.slot_bytes + int64_t{plan.token_tile} * phase.k_per_slot * kElementBytes) +
      MmaSmemBytes(t.wgmmas, t.wgmma_columns);
  return t;
}

// Phase 2 over a chunk of h that every CTA of the cluster holds.
PhaseTraffic ChunkTraffic(const FusionPlan& plan) {
  const int64_t hidden = plan.problem.hidden.value();
  const int64_t intermediate = plan.problem.intermediate.value();
  const int64_t chunk = plan.chunk_rows();
  const int64_t loaded = RoundUp(chunk, kBoxK);  // columns of one cluster's boxes
  PhaseTraffic t;
  // A chunk's last box overlaps the right neighbour's columns; the last two clusters may meet the
  // edge.
  int64_t columns = 0;
  const int64_t inner = std::max(plan.num_clusters - 2, 0);
  for (int64_t cluster = inner; cluster < plan.num_clusters; ++cluster) {
    columns += std::min(loaded, intermediate - cluster * chunk);
  }
  columns += inner * loaded;
  t.hbm_bytes = columns * hidden * kElementBytes;
  t.waste_bytes = (columns - intermediate) * hidden * kElementBytes;
  t.widest_cta_bytes =
      std::min(plan.down.rows_per_cta(), hidden) * std::min(loaded, intermediate) * kElementBytes;
  const int64_t slots_per_pass = CeilDiv(chunk, plan.down.k_per_slot);
  t.slots = plan.down.passes * slots_per_pass;
  t.boxes = plan.down.passes * (loaded / kBoxK);
  t.slot_bytes = DownSlotBytes(plan);
  const int64_t tiles = CeilDiv(plan.down.rows_per_pass, kWgmmaRows);
  t.wgmmas = plan.down.passes * (chunk / kWgmmaK) * tiles;
  t.wgmma_chain = plan.down.passes * (chunk / kWgmmaK) * TilesPerWarpgroup(plan, plan.down);
  t.wgmma_columns = plan.token_tile;
  t.smem_bytes = t.boxes * plan.down.rows_per_pass * kBoxK * kElementBytes +
                 MmaSmemBytes(t.wgmmas, plan.token_tile);
  return t;
}

}  // namespace

Traffic TrafficOf(const FusionPlan& plan) {
  const int64_t hidden = plan.problem.hidden.value();
  const int64_t intermediate = plan.problem.intermediate.value();
  Traffic traffic{
      .up = StreamedTraffic(plan, plan.up, plan.problem.num_up_matrices(), intermediate, hidden)};
  if (plan.gathers_over_grid()) {
    traffic.down = StreamedTraffic(plan, plan.down, 1, hidden, intermediate);
    return traffic;
  }
  traffic.down = ChunkTraffic(plan);
  traffic.dsm_bytes_per_cta =
      (plan.cluster_size - 1) * plan.up.rows_per_cta() * plan.token_tile * kElementBytes;
  traffic.partial_bytes = PartialBytes(plan);
  return traffic;
}

}  // namespace fusebox
