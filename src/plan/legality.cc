#include "src/plan/legality.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/field_rules.h"

namespace fusebox {
namespace {

using absl::StrCat;

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

const LegalityRule* FirstBroken(const PlanFacts& facts, absl::Span<const LegalityRule> rules) {
  for (const LegalityRule& rule : rules) {
    if (!rule.holds(facts)) return &rule;
  }
  return nullptr;
}

}  // namespace

absl::Span<const LegalityRule> LegalityRules() {
  static const auto* const kRules = [] {
    auto* const rules = new std::vector<LegalityRule>(FieldRules().begin(), FieldRules().end());
    rules->insert(rules->end(), std::begin(kFitRules), std::end(kFitRules));
    return rules;
  }();
  return *kRules;
}

const LegalityRule* FirstBrokenRule(const FusionPlan& plan, const DeviceSpec& device) {
  PlanFacts facts{.plan = plan, .device = device, .cluster = device.FindCluster(plan.cluster_size)};
  const absl::Span<const LegalityRule> rules = LegalityRules();
  const LegalityRule* broken = FirstBroken(facts, rules.subspan(0, FieldRules().size()));
  if (broken != nullptr) return broken;
  facts.footprint = FootprintOf(plan);
  return FirstBroken(facts, rules.subspan(FieldRules().size()));
}

std::string Explain(const LegalityRule& rule, const FusionPlan& plan, const DeviceSpec& device) {
  PlanFacts facts{.plan = plan, .device = device, .cluster = device.FindCluster(plan.cluster_size)};
  const absl::Span<const LegalityRule> rules = LegalityRules();
  const bool needs_footprint = &rule - rules.data() >= static_cast<ptrdiff_t>(FieldRules().size());
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
