#include "src/plan/legality.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

using absl::StrCat;

constexpr int kMaxConsumerWarpgroups =
    4;  // with the producer 640 threads; named barriers and registers end there
// Measured on an H200: the best plan with 33 to 66 clusters took 1.14 times the best with fewer,
// one with 103 clusters 12 times.
constexpr int kMaxCombineParties = 32;
constexpr int kCombineRegisters = 32;  // 8 fragments of 4 words, loaded ahead by the ordered sum

// Bytes past the end of a slot that the last tile of 64 rows reads in either phase.
int64_t OverreadBytes(const FusionPlan& plan) {
  constexpr int64_t kBoxRowBytes = kBoxK * 2;
  if (plan.mma_rows == MmaRows::kTokens) return 0;
  const int64_t up = RoundUp(plan.up.rows_per_pass, kWgmmaRows) - plan.up.rows_per_pass;
  const int64_t down = RoundUp(plan.down.rows_per_pass, kWgmmaRows) - plan.down.rows_per_pass;
  return std::max(up, down) * kBoxRowBytes;
}

// Units of 16 output rows x 8 tokens of one rank, padding included: a counter each where partial
// sums are combined.
int64_t UnitsOfRank(const FusionPlan& plan) {
  constexpr int64_t kStripsPerTile = kWgmmaRows / 16;
  return int64_t{plan.down.passes} * TilesPerWarpgroup(plan, plan.down) * plan.consumer_warpgroups *
         kStripsPerTile * (plan.token_tile / 8);
}

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

// Rules on single fields and sums of them; nothing here needs the footprint, which divides by some
// of them.
constexpr LegalityRule kFieldRules[] = {
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

constexpr LegalityRule kFitRules[] = {
    {"co_resident",
     [](const PlanFacts& f) { return f.plan.grid_ctas() <= ResidentCtas(f.plan, f.device); },
     [](const PlanFacts& f) {
       return StrCat("a grid of ", f.plan.grid_ctas(), " CTAs in clusters of ", f.plan.cluster_size,
                     " would run in waves, for only ", ResidentCtas(f.plan, f.device),
                     " are resident on ", f.device.name,
                     "; use tensor parallelism, or run your own path");
     }},
    {"smem_fits",
     [](const PlanFacts& f) { return f.footprint.total_bytes <= f.device.smem_per_cta_bytes; },
     [](const PlanFacts& f) {
       return StrCat("a CTA needs ", f.footprint.total_bytes, " bytes of shared memory; ",
                     f.device.smem_per_cta_bytes, " are there");
     }},
    {"tile_overread",
     [](const PlanFacts& f) {
       return f.footprint.activation_offset + OverreadBytes(f.plan) <=
              f.footprint.total_bytes - kSmemAlignment;
     },
     [](const PlanFacts& f) {
       return StrCat("a tile of ", kWgmmaRows, " rows at the end of the ring reads ",
                     OverreadBytes(f.plan), " bytes past it, but only ",
                     f.footprint.total_bytes - kSmemAlignment - f.footprint.activation_offset,
                     " follow");
     }},
    {"sums_fit",
     [](const PlanFacts& f) { return ReceivedBytes(f.plan) <= f.footprint.intermediate_offset; },
     [](const PlanFacts& f) {
       return StrCat("sums of ", ReceivedBytes(f.plan), " bytes from ", f.plan.down.k_ctas - 1,
                     " CTAs that split k exceed the rings' ", f.footprint.intermediate_offset,
                     " bytes, which are to receive them");
     }},
    {"registers_fit",
     [](const PlanFacts& f) {
       return RegistersNeeded(f.plan, f.device) <= RegisterBudget(f.plan, f.device);
     },
     [](const PlanFacts& f) {
       return StrCat("a consumer thread needs about ", RegistersNeeded(f.plan, f.device),
                     " registers; ", f.plan.threads(), " threads leave it ",
                     RegisterBudget(f.plan, f.device),
                     "; use fewer rows in a pass or a smaller token tile");
     }},
    {"counters_fit",
     [](const PlanFacts& f) {
       return f.plan.combine != Combine::kOrderedPartials ||
              f.plan.cluster_size * UnitsOfRank(f.plan) <= kWorkspaceCounters;
     },
     [](const PlanFacts& f) {
       return StrCat("the outputs are ", f.plan.cluster_size * UnitsOfRank(f.plan),
                     " units of 16 rows x 8 tokens; the workspace has ", kWorkspaceCounters,
                     " counters for them");
     }},
    {"partials_fit_l2",
     [](const PlanFacts& f) {
       return static_cast<double>(PartialBytes(f.plan) + GatheredBytes(f.plan)) <=
              f.device.partials_l2_share * static_cast<double>(f.device.l2_bytes);
     },
     [](const PlanFacts& f) {
       return StrCat("partial sums and h of ", PartialBytes(f.plan) + GatheredBytes(f.plan),
                     " bytes exceed the share ", f.device.partials_l2_share, " of the ",
                     f.device.l2_bytes, " bytes of L2; use fewer clusters or a smaller token tile");
     }},
    {"combine_parties",
     [](const PlanFacts& f) {
       return f.plan.combine != Combine::kOrderedPartials ||
              f.plan.num_clusters <= kMaxCombineParties;
     },
     [](const PlanFacts& f) {
       return StrCat("each output would be summed over ", f.plan.num_clusters, " clusters; beyond ",
                     kMaxCombineParties, " the sum outlasts the stream; use larger clusters");
     }},
};

constexpr size_t kNumFieldRules = std::size(kFieldRules);

constexpr auto kAllRules = [] {
  std::array<LegalityRule, kNumFieldRules + std::size(kFitRules)> rules{};
  std::copy(std::begin(kFieldRules), std::end(kFieldRules), rules.begin());
  std::copy(std::begin(kFitRules), std::end(kFitRules), rules.begin() + kNumFieldRules);
  return rules;
}();

const LegalityRule* FirstBroken(const PlanFacts& facts, absl::Span<const LegalityRule> rules) {
  for (const LegalityRule& rule : rules) {
    if (!rule.holds(facts)) return &rule;
  }
  return nullptr;
}

}  // namespace

absl::Span<const LegalityRule> LegalityRules() { return kAllRules; }

const LegalityRule* FirstBrokenRule(const FusionPlan& plan, const DeviceSpec& device) {
  PlanFacts facts{.plan = plan, .device = device, .cluster = device.FindCluster(plan.cluster_size)};
  const absl::Span<const LegalityRule> rules = LegalityRules();
  const LegalityRule* broken = FirstBroken(facts, rules.subspan(0, kNumFieldRules));
  if (broken != nullptr) return broken;
  facts.footprint = FootprintOf(plan);
  return FirstBroken(facts, rules.subspan(kNumFieldRules));
}

std::string Explain(const LegalityRule& rule, const FusionPlan& plan, const DeviceSpec& device) {
  PlanFacts facts{.plan = plan, .device = device, .cluster = device.FindCluster(plan.cluster_size)};
  const absl::Span<const LegalityRule> rules = LegalityRules();
  const bool needs_footprint = &rule - rules.data() >= static_cast<ptrdiff_t>(kNumFieldRules);
  if (needs_footprint) facts.footprint = FootprintOf(plan);
  return rule.sentence(facts);
}

absl::Status CheckLegal(const FusionPlan& plan, const DeviceSpec& device) {
  const LegalityRule* broken = FirstBrokenRule(plan, device);
  if (broken == nullptr) return absl::OkStatus();
  return Declined(broken->name, Explain(*broken, plan, device));
}

int ResidentCtas(const FusionPlan& plan, const DeviceSpec& device) {
  const ClusterCapacity* cluster = device.FindCluster(plan.cluster_size);
  return cluster == nullptr ? 0 : cluster->resident_ctas;
}

int RegisterBudget(const FusionPlan& plan, const DeviceSpec& device) {
  const RegisterSplit split = SplitRegisters(plan);
  if (split.consumer > 0) return split.consumer;
  const int64_t registers =
      device.registers_per_sm / plan.threads() / kRegisterGranule * kRegisterGranule;
  return static_cast<int>(std::min<int64_t>(registers, device.max_registers_per_thread));
}

int RegistersNeeded(const FusionPlan& plan, const DeviceSpec& device) {
  constexpr int kFp32PerBlock = 4;  // 64 x 8 sums over 128 threads
  const int up = static_cast<int>(plan.problem.num_up_matrices()) *
                 TilesPerWarpgroup(plan, plan.up) * BlocksOf(plan, plan.up) * kFp32PerBlock;
  const int down = TilesPerWarpgroup(plan, plan.down) * BlocksOf(plan, plan.down) * kFp32PerBlock;
  return device.kernel_registers + std::max({up, down, kCombineRegisters});
}

}  // namespace fusebox
