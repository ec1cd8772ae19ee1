#include "src/plan/traffic.h"

#include <algorithm>

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;

// Shared-memory bytes of `wgmmas` instructions: A is 64 x 16, B is token_tile x 16, each read once.
int64_t MmaSmemBytes(int64_t wgmmas, int token_tile) {
  return wgmmas * (kWgmmaRows + token_tile) * kWgmmaK * kElementBytes;
}

PhaseTraffic UpTraffic(const FusionPlan& plan) {
  const FfnProblem& problem = plan.problem;
  const int64_t hidden = problem.hidden.value();
  const int64_t matrices = problem.num_up_matrices();
  PhaseTraffic t;
  t.hbm_bytes = matrices * problem.intermediate.value() * hidden * kElementBytes;
  const int64_t widest_rows = std::min<int64_t>(plan.up.rows_per_cta, problem.intermediate.value());
  t.widest_cta_bytes = matrices * widest_rows * hidden * kElementBytes;
  t.activation_bytes = int64_t{plan.grid_ctas()} * plan.token_tile * hidden * kElementBytes;
  t.slots = CeilDiv(hidden, plan.up.k_per_slot);
  t.boxes = t.slots * (plan.up.k_per_slot / kBoxK) * matrices;
  t.slot_bytes = UpSlotBytes(plan);
  const int64_t tiles = CeilDiv(plan.up.rows_per_cta, kWgmmaRows);
  t.wgmmas = t.slots * (plan.up.k_per_slot / kWgmmaK) * tiles * matrices;
  t.wgmma_chain = t.slots * (plan.up.k_per_slot / kWgmmaK / plan.up.k_warpgroups) *
                  UpTilesPerWarpgroup(plan) * matrices;
  t.smem_bytes =
      t.slots * (t.slot_bytes + int64_t{plan.token_tile} * plan.up.k_per_slot * kElementBytes) +
      MmaSmemBytes(t.wgmmas, plan.token_tile);
  return t;
}

PhaseTraffic DownTraffic(const FusionPlan& plan) {
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
      std::min(plan.slice_rows(), hidden) * std::min(loaded, intermediate) * kElementBytes;
  const int64_t slots_per_pass = CeilDiv(chunk, plan.down.k_per_slot);
  t.slots = plan.down.passes * slots_per_pass;
  t.boxes = plan.down.passes * (loaded / kBoxK);
  t.slot_bytes = DownSlotBytes(plan);
  const int64_t tiles = CeilDiv(plan.down.rows_per_pass, kWgmmaRows);
  t.wgmmas = plan.down.passes * (chunk / kWgmmaK) * tiles;
  t.wgmma_chain = plan.down.passes * (chunk / kWgmmaK) * DownTilesPerWarpgroup(plan);
  t.smem_bytes = t.boxes * plan.down.rows_per_pass * kBoxK * kElementBytes +
                 MmaSmemBytes(t.wgmmas, plan.token_tile);
  return t;
}

}  // namespace

Traffic TrafficOf(const FusionPlan& plan) {
  Traffic traffic{.up = UpTraffic(plan), .down = DownTraffic(plan)};
  traffic.dsm_bytes_per_cta =
      int64_t{plan.cluster_size - 1} * plan.up.rows_per_cta * plan.token_tile * kElementBytes;
  traffic.partial_bytes = PartialBytes(plan);
  return traffic;
}

}  // namespace fusebox
