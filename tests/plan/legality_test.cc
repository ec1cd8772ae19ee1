#include "src/plan/legality.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "src/base/status.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(LegalityTest, AcceptsThePlanThatTheOthersAreMadeFrom) {
  EXPECT_TRUE(CheckLegal(SomePlan(), H200()).ok()) << CheckLegal(SomePlan(), H200());
}

struct RuleCase {
  std::string sentence;  // "rule: sentence"
  std::function<void(FusionPlan&)> change;
};

// One case a rule at least: the change breaks that rule first.
std::vector<RuleCase> RuleCases() {
  return {
      {"fields_positive: every count of a plan is at least 1",
       [](FusionPlan& p) { p.num_clusters = 0; }},
      {"token_tile: token tile 24 has no kernel; this version has 8, 16, 32, 64, 128",
       [](FusionPlan& p) { p.token_tile = 24; }},
      {"cluster_fits: a cluster of 6 CTAs cannot be launched; sizes are 1, 2, 4, 8, 16",
       [](FusionPlan& p) { p.cluster_size = 6; }},
      {"exchange_reachable: the edge grid gather with combine ordered_partials has no kernel; h is "
       "gathered through dsm, with ordered_partials, or over the grid, with none",
       [](FusionPlan& p) { p.edge_scope = Scope::kGrid; }},
      {"phase_split: phase 1 in 2 passes and phase 2 with 1 warpgroups to a slot's k: with dsm "
       "gather each can only be 1",
       [](FusionPlan& p) { p.up.passes = 2; }},
      {"row_granule: rows 100 (up) and 256 (down) must be multiples of 8, what a box of "
       "layout out_in holds",
       [](FusionPlan& p) { p.up.rows_per_pass = 100; }},
      {"row_granule: rows 96 (up) and 256 (down) must be multiples of 64, what a box of layout "
       "in_out holds",
       [](FusionPlan& p) { p.problem.layout = WeightLayout::kInOut; }},
      {"box_rows: boxes of 96 (up) and 512 (down) rows exceed the 256 of a tensor map; use more "
       "CTAs "
       "or more passes",
       [](FusionPlan& p) { p.down = {.rows_per_pass = 512, .passes = 1, .k_per_slot = 64}; }},
      {"k_innermost: k per slot 96 (up) and 64 (down) must be multiples of 64, the inner width of "
       "a box",
       [](FusionPlan& p) { p.up.k_per_slot = 96; }},
      {"k_granule: a chunk of 104 intermediate rows is not a multiple of 16, a k step of wgmma",
       [](FusionPlan& p) {
         p.cluster_size = 1;
         p.up.rows_per_pass = 104;
       }},
      {"slot_useful: slots of 64 (up) and 832 (down) k elements are longer than the phases' 4096 "
       "and "
       "768",
       [](FusionPlan& p) { p.down.k_per_slot = 832; }},
      {"covers_intermediate: 14 clusters of 768 rows do not deal out intermediate 11008 with work "
       "for "
       "each; 15 do",
       [](FusionPlan& p) { p.num_clusters = 14; }},
      {"covers_outputs: 8 slices of 1 x 256 output rows do not deal out hidden 4096 with work for "
       "each "
       "rank and pass",
       [](FusionPlan& p) { p.down.passes = 1; }},
      {"covers_grid: 15 CTAs with 96 intermediate and 512 output rows each do not deal out 11008 "
       "and "
       "4096 with work for each cluster",
       [](FusionPlan& p) {
         p.cluster_size = 1;
         p.edge_scope = Scope::kGrid;
         p.combine = Combine::kNone;
       }},
      {"warpgroup_split: 2 consumer warpgroups, 4 (up) and 1 (down) sharing the k of a slot: at "
       "most "
       "4 are possible, the sharers must divide them and a slot's 4 and 4 k steps",
       [](FusionPlan& p) { p.up.k_warpgroups = 4; }},
      {"ring_fits: rings of 2 weight and 8 activation slots are too short; at least 3 and 3 keep "
       "copies "
       "in flight; use fewer tokens a launch or tensor parallelism, or run your own path",
       [](FusionPlan& p) { p.ring_slots = 2; }},
      {"in_flight: 7 slots in flight: accepted are 1 to the ring's 6",
       [](FusionPlan& p) { p.slots_in_flight = 7; }},
      {"co_resident: a grid of 128 CTAs in clusters of 16 would run in waves, for only 112 are "
       "resident on "
       "h200-sxm; use tensor parallelism, or run your own path",
       [](FusionPlan& p) {
         p.cluster_size = 16;
         p.num_clusters = 8;
         p.up.rows_per_pass = 88;
         p.down.passes = 1;
       }},
      {"smem_fits: a CTA needs 251136 bytes of shared memory; 232448 are there",
       [](FusionPlan& p) { p.ring_slots = 7; }},
      {"tile_overread: a tile of 64 rows at the end of the ring reads 7168 bytes past it, but only "
       "4528 "
       "follow",
       [](FusionPlan& p) {
         p.problem = {.hidden = DimK(1024), .intermediate = DimN(1040)};
         p.cluster_size = 2;
         p.num_clusters = 65;
         p.up.rows_per_pass = 8;
         p.down = {.rows_per_pass = 256, .passes = 2, .k_per_slot = 64};
         p.activation_slots = 4;
       }},
      {"registers_fit: a consumer thread needs about 112 registers; 640 threads leave it 96; use "
       "fewer "
       "rows in a pass or a smaller token tile",
       [](FusionPlan& p) {
         p.token_tile = 32;
         p.consumer_warpgroups = 4;
         p.up.k_warpgroups = 4;
         p.ring_slots = 3;
         p.slots_in_flight = 3;
         p.activation_slots = 3;
         p.cluster_size = 4;
         p.num_clusters = 29;
         p.down = {.rows_per_pass = 128, .passes = 8, .k_per_slot = 64};
       }},
      {"counters_fit: the outputs are 16384 units of 16 rows x 8 tokens; the workspace has 16112 "
       "counters for "
       "them",
       [](FusionPlan& p) {
         p.problem = {.hidden = DimK(65536), .intermediate = DimN(1920)};
         p.num_clusters = 15;
         p.up.rows_per_pass = 16;
         p.down = {.rows_per_pass = 256, .passes = 32, .k_per_slot = 64};
         p.token_tile = 32;
         p.ring_slots = 3;
         p.slots_in_flight = 3;
       }},
      {"partials_fit_l2: partial sums and h of 31457280 bytes exceed the share 0.25 of the "
       "62914560 "
       "bytes of "
       "L2; use fewer clusters or a smaller token tile",
       [](FusionPlan& p) {
         p.cluster_size = 2;
         p.num_clusters = 60;
         p.up.rows_per_pass = 96;
         p.problem.intermediate = DimN(11520);
         p.down = {.rows_per_pass = 256, .passes = 8, .k_per_slot = 64};
         p.token_tile = 32;
         p.ring_slots = 4;
         p.slots_in_flight = 4;
       }},
      {"combine_parties: each output would be summed over 58 clusters; beyond 32 the sum outlasts "
       "the "
       "stream; use larger clusters",
       [](FusionPlan& p) {
         p.cluster_size = 2;
         p.num_clusters = 58;
         p.down = {.rows_per_pass = 256, .passes = 8, .k_per_slot = 64};
       }},
  };
}

TEST(LegalityTest, EachRuleRefusesWithItsSentence) {
  std::set<std::string> seen;
  for (const RuleCase& c : RuleCases()) {
    FusionPlan plan = SomePlan();
    c.change(plan);
    const absl::Status status = CheckLegal(plan, H200());
    EXPECT_TRUE(IsDeclined(status)) << status;
    EXPECT_EQ(status.message(), c.sentence);
    EXPECT_EQ(status.message().find('\n'), std::string_view::npos);
    seen.insert(c.sentence.substr(0, c.sentence.find(':')));
  }
  for (const LegalityRule& rule : LegalityRules()) {
    EXPECT_TRUE(seen.contains(std::string(rule.name))) << rule.name << " has no case here";
  }
}

}  // namespace
}  // namespace fusebox
