#include "src/plan/field_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fusebox {
namespace {

using absl::StrCat;

constexpr int kMaxConsumerWarpgroups =
    4;  // with the producer 640 threads; named barriers and registers end there

bool IsWholeSlot(int k_per_slot) { return k_per_slot % kBoxK == 0; }
int64_t UpK(const FusionPlan& plan) { return RoundUp(plan.problem.hidden.value(), kBoxK); }
int64_t DownK(const FusionPlan& plan) { return RoundUp(plan.down_k(), kBoxK); }

// Rows that a box has a whole number of: a swizzle atom, or in layout in_out, whose boxes are 64
// rows wide, a box.
int RowGranule(const FusionPlan& plan) {
  return plan.problem.layout == WeightLayout::kInOut ? kBoxK : kRowGranule;
}

bool KSplits(const FusionPlan& plan, const PhasePartition& phase) {
  return plan.consumer_warpgroups % phase.k_warpgroups == 0 &&
         phase.k_per_slot % (phase.k_warpgroups * kWgmmaK) == 0;
}

// Each phase has rows for all `parts` that `rows` are dealt to, and none is idle.
bool DealsOut(int64_t rows, int64_t rows_per_part, int64_t parts) {
  return parts * rows_per_part >= rows && (parts - 1) * rows_per_part < rows;
}

// With grid gather a CTA may have no rows in one phase, but no cluster has none in both.
bool DealsOutOverGrid(const FusionPlan& plan) {
  const int64_t intermediate = plan.problem.intermediate.value();
  const int64_t hidden = plan.problem.hidden.value();
  const int64_t fewer = int64_t{plan.num_clusters - 1} * plan.cluster_size;
  return plan.grid_ctas() * plan.up.rows_per_cta() >= intermediate &&
         plan.grid_ctas() / plan.down.k_ctas * plan.down.rows_per_cta() >= hidden &&
         (fewer * plan.up.rows_per_cta() < intermediate ||
          fewer / plan.down.k_ctas * plan.down.rows_per_cta() < hidden);
}

// Every warpgroup that does not split k has an equal part of the tokens' tiles.
bool HasMmaRows(const FusionPlan& plan) {
  if (plan.mma_rows == MmaRows::kWeights) return true;
  const auto deals_out = [&](const PhasePartition& phase) {
    return plan.token_tile % (kWgmmaRows * plan.consumer_warpgroups / phase.k_warpgroups) == 0;
  };
  return plan.gathers_over_grid() && plan.problem.layout == WeightLayout::kOutIn &&
         deals_out(plan.up) && deals_out(plan.down);
}

// Strips of 16 wgmma rows of a pass of phase 2, padding included.
int StripsOfPass(const FusionPlan& plan) {
  return TilesPerWarpgroup(plan, plan.down) * plan.consumer_warpgroups / plan.down.k_warpgroups *
         (kWgmmaRows / 16);
}

bool SplitsKOverCtas(const FusionPlan& plan) {
  const int ctas = plan.down.k_ctas;
  if (plan.up.k_ctas != 1 || (ctas > 1) != (plan.combine == Combine::kDsmReduceScatter))
    return false;
  return ctas == 1 || (plan.down.passes == 1 && plan.cluster_size % ctas == 0 &&
                       StripsOfPass(plan) % ctas == 0 &&
                       (ctas - 1) * plan.down_k_part() < plan.problem.intermediate.value());
}

constexpr LegalityRule kRules[] = {
    {"fields_positive",
     [](const PlanFacts& f) {
       const FusionPlan& p = f.plan;
       return std::min({p.token_tile, p.cluster_size, p.num_clusters, p.consumer_warpgroups,
                        p.up.rows_per_pass, p.up.passes, p.up.k_per_slot, p.up.k_warpgroups,
                        p.up.k_ctas, p.down.rows_per_pass, p.down.passes, p.down.k_per_slot,
                        p.down.k_warpgroups, p.down.k_ctas}) > 0;
     },
     [](const PlanFacts&) { return std::string("every count of a plan is at least 1"); }},
    {"token_tile",
     [](const PlanFacts& f) {
       return std::find(kTokenTiles.begin(), kTokenTiles.end(), f.plan.token_tile) !=
              kTokenTiles.end();
     },
     [](const PlanFacts& f) {
       return StrCat("token tile ", f.plan.token_tile, " has no kernel; this version has ",
                     absl::StrJoin(kTokenTiles, ", "));
     }},
    {"cluster_fits", [](const PlanFacts& f) { return f.cluster != nullptr; },
     [](const PlanFacts& f) {
       return StrCat("a cluster of ", f.plan.cluster_size, " CTAs cannot be launched; sizes are ",
                     absl::StrJoin(kClusterSizes, ", "));
     }},
    {"exchange_reachable",
     [](const PlanFacts& f) {
       return (f.plan.edge_scope == Scope::kDsm && f.plan.combine == Combine::kOrderedPartials) ||
              (f.plan.edge_scope == Scope::kGrid &&
               (f.plan.combine == Combine::kNone || f.plan.combine == Combine::kDsmReduceScatter));
     },
     [](const PlanFacts& f) {
       return StrCat("the edge ", ToString(f.plan.edge_scope), " ",
                     ToString(f.plan.edge_collective), " with combine ", ToString(f.plan.combine),
                     " has no kernel; h is gathered through dsm, with ordered_partials, or over "
                     "the grid, with none or dsm_reduce_scatter");
     }},
    {"phase_split",
     [](const PlanFacts& f) {
       return f.plan.gathers_over_grid() ||
              (f.plan.up.passes == 1 && f.plan.down.k_warpgroups == 1);
     },
     [](const PlanFacts& f) {
       return StrCat("phase 1 in ", f.plan.up.passes, " passes and phase 2 with ",
                     f.plan.down.k_warpgroups,
                     " warpgroups to a slot's k: with dsm gather each can only be 1");
     }},
    {"row_granule",
     [](const PlanFacts& f) {
       return f.plan.up.rows_per_pass % RowGranule(f.plan) == 0 &&
              f.plan.down.rows_per_pass % RowGranule(f.plan) == 0;
     },
     [](const PlanFacts& f) {
       return StrCat("rows ", f.plan.up.rows_per_pass, " (up) and ", f.plan.down.rows_per_pass,
                     " (down) must be multiples of ", RowGranule(f.plan), ", what a box of layout ",
                     ToString(f.plan.problem.layout), " holds");
     }},
    {"box_rows",
     [](const PlanFacts& f) {
       return f.plan.up.rows_per_pass <= kMaxBoxRows && f.plan.down.rows_per_pass <= kMaxBoxRows;
     },
     [](const PlanFacts& f) {
       return StrCat("boxes of ", f.plan.up.rows_per_pass, " (up) and ", f.plan.down.rows_per_pass,
                     " (down) rows exceed the ", kMaxBoxRows,
                     " of a tensor map; use more CTAs or more passes");
     }},
    {"k_innermost",
     [](const PlanFacts& f) {
       return IsWholeSlot(f.plan.up.k_per_slot) && IsWholeSlot(f.plan.down.k_per_slot);
     },
     [](const PlanFacts& f) {
       return StrCat("k per slot ", f.plan.up.k_per_slot, " (up) and ", f.plan.down.k_per_slot,
                     " (down) must be multiples of ", kBoxK, ", the inner width of a box");
     }},
    {"k_granule",
     [](const PlanFacts& f) {
       return f.plan.gathers_over_grid() || f.plan.chunk_rows() % kWgmmaK == 0;
     },
     [](const PlanFacts& f) {
       return StrCat("a chunk of ", f.plan.chunk_rows(), " intermediate rows is not a multiple of ",
                     kWgmmaK, ", a k step of wgmma");
     }},
    {"slot_useful",
     [](const PlanFacts& f) {
       return f.plan.up.k_per_slot <= UpK(f.plan) && f.plan.down.k_per_slot <= DownK(f.plan);
     },
     [](const PlanFacts& f) {
       return StrCat("slots of ", f.plan.up.k_per_slot, " (up) and ", f.plan.down.k_per_slot,
                     " (down) k elements are longer than the phases' ", UpK(f.plan), " and ",
                     DownK(f.plan));
     }},
    {"covers_intermediate",
     [](const PlanFacts& f) {
       return f.plan.gathers_over_grid() || DealsOut(f.plan.problem.intermediate.value(),
                                                     f.plan.chunk_rows(), f.plan.num_clusters);
     },
     [](const PlanFacts& f) {
       return StrCat(f.plan.num_clusters, " clusters of ", f.plan.chunk_rows(),
                     " rows do not deal out intermediate ", f.plan.problem.intermediate.value(),
                     " with work for each; ",
                     CeilDiv(f.plan.problem.intermediate.value(), f.plan.chunk_rows()), " do");
     }},
    {"covers_outputs",
     [](const PlanFacts& f) {
       const int64_t hidden = f.plan.problem.hidden.value();
       return f.plan.gathers_over_grid() ||
              (DealsOut(hidden, f.plan.down.rows_per_cta(), f.plan.cluster_size) &&
               int64_t{f.plan.down.passes - 1} * f.plan.down.rows_per_pass < hidden);
     },
     [](const PlanFacts& f) {
       return StrCat(f.plan.cluster_size, " slices of ", f.plan.down.passes, " x ",
                     f.plan.down.rows_per_pass, " output rows do not deal out hidden ",
                     f.plan.problem.hidden.value(), " with work for each rank and pass");
     }},
    {"covers_grid",
     [](const PlanFacts& f) { return !f.plan.gathers_over_grid() || DealsOutOverGrid(f.plan); },
     [](const PlanFacts& f) {
       return StrCat(f.plan.grid_ctas(), " CTAs with ", f.plan.up.rows_per_cta(),
                     " intermediate and ", f.plan.down.rows_per_cta(),
                     " output rows each do not deal out ", f.plan.problem.intermediate.value(),
                     " and ", f.plan.problem.hidden.value(), " with work for each cluster");
     }},
    {"warpgroup_split",
     [](const PlanFacts& f) {
       const FusionPlan& plan = f.plan;
       return plan.consumer_warpgroups <= kMaxConsumerWarpgroups &&
              plan.threads() <= f.device.max_threads_per_cta && KSplits(plan, plan.up) &&
              KSplits(plan, plan.down);
     },
     [](const PlanFacts& f) {
       return StrCat(
           f.plan.consumer_warpgroups, " consumer warpgroups, ", f.plan.up.k_warpgroups,
           " (up) and ", f.plan.down.k_warpgroups, " (down) sharing the k of a slot: at most ",
           kMaxConsumerWarpgroups, " are possible, the sharers must divide them and a slot's ",
           f.plan.up.k_per_slot / kWgmmaK, " and ", f.plan.down.k_per_slot / kWgmmaK, " k steps");
     }},
    {"mma_rows", [](const PlanFacts& f) { return HasMmaRows(f.plan); },
     [](const PlanFacts& f) {
       return StrCat(
           "wgmma's rows cannot be ", ToString(f.plan.mma_rows), " for a token tile of ",
           f.plan.token_tile, " with edge ", ToString(f.plan.edge_scope), " and layout ",
           ToString(f.plan.problem.layout),
           ": tokens can with a grid edge and layout out_in, where each of the row groups "
           "has whole tiles of 64");
     }},
    {"multicast_reachable",
     [](const PlanFacts& f) {
       return !f.plan.activation_multicast ||
              (f.plan.cluster_size > 1 && f.plan.token_tile % (8 * f.plan.cluster_size) == 0);
     },
     [](const PlanFacts& f) {
       return StrCat("activations cannot be multicast over ", f.plan.cluster_size,
                     " CTAs: at least 2 share them, and each copies whole groups of 8 of the ",
                     f.plan.token_tile, " tokens");
     }},
    {"k_ctas", [](const PlanFacts& f) { return SplitsKOverCtas(f.plan); },
     [](const PlanFacts& f) {
       return StrCat("k split over ", f.plan.up.k_ctas, " (up) and ", f.plan.down.k_ctas,
                     " (down) CTAs with combine ", ToString(f.plan.combine),
                     ": phase 1 is not split; phase 2 is with dsm_reduce_scatter alone, in one "
                     "pass, by a divisor of the cluster's ",
                     f.plan.cluster_size, " CTAs and of a pass's ", StripsOfPass(f.plan),
                     " strips of 16 wgmma rows, with k left for each");
     }},
    {"ring_fits",
     [](const PlanFacts& f) {
       return f.plan.ring_slots >= kMinRingSlots && f.plan.activation_slots >= kMinActivationSlots;
     },
     [](const PlanFacts& f) {
       return StrCat("rings of ", f.plan.ring_slots, " weight and ", f.plan.activation_slots,
                     " activation slots are too short; at least ", kMinRingSlots, " and ",
                     kMinActivationSlots,
                     " keep copies in flight; use fewer tokens a launch or "
                     "tensor parallelism, or run your own path");
     }},
    {"in_flight",
     [](const PlanFacts& f) {
       return f.plan.slots_in_flight >= 1 && f.plan.slots_in_flight <= f.plan.ring_slots;
     },
     [](const PlanFacts& f) {
       return StrCat(f.plan.slots_in_flight, " slots in flight: accepted are 1 to the ring's ",
                     f.plan.ring_slots);
     }},
};

}  // namespace

absl::Span<const LegalityRule> FieldRules() { return kRules; }

}  // namespace fusebox
