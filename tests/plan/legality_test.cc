#include "src/plan/legality.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

TEST(LegalityTest, AcceptsThePlanThatTheOthersAreMadeFrom) {
  for (const FusionPlan& plan : {SomePlan(), SomeSplitPlan()})
    EXPECT_TRUE(CheckLegal(plan, H200()).ok()) << CheckLegal(plan, H200());
}

// Each of the three ways to serve many tokens stands alone.
TEST(LegalityTest, AcceptsSplitsMulticastAndTokenRowsApart) {
  void (*const kChanges[])(FusionPlan&) = {
      [](FusionPlan& p) { p.mma_rows = MmaRows::kWeights; },
      [](FusionPlan& p) { p.activation_multicast = false; },
      [](FusionPlan& p) { p.down.rows_per_pass = 72, p.down.k_ctas = 2; },
      [](FusionPlan& p) {
        p.down = {.rows_per_pass = 40, .k_per_slot = 64, .k_warpgroups = 2};
        p.combine = Combine::kNone;
      },
  };
  for (const auto& change : kChanges) {
    FusionPlan plan = SomeSplitPlan();
    change(plan);
    EXPECT_TRUE(CheckLegal(plan, H200()).ok()) << CheckLegal(plan, H200());
  }
}

struct RuleCase {
  std::string sentence;  // "rule: sentence"
  std::function<void(FusionPlan&)> change;
};

std::string SplitSentence(int up_ctas, int down_ctas, int cluster_size) {
  return absl::StrCat("k_ctas: k split over ", up_ctas, " (up) and ", down_ctas,
                      " (down) CTAs with combine dsm_reduce_scatter: phase 1 is not split; phase 2 "
                      "is with dsm_reduce_scatter alone, in one pass, by a divisor of the "
                      "cluster's ",
                      cluster_size,
                      " CTAs and of a pass's 4 strips of 16 wgmma rows, with k left "
                      "for each");
}

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
       "gathered through dsm, with ordered_partials, or over the grid, with none or "
       "dsm_reduce_scatter",
       [](FusionPlan& p) { p.edge_scope = Scope::kGrid; }},
      {"exchange_reachable: the edge dsm gather with combine dsm_reduce_scatter has no kernel; h "
       "is "
       "gathered through dsm, with ordered_partials, or over the grid, with none or "
       "dsm_reduce_scatter",
       [](FusionPlan& p) { p.combine = Combine::kDsmReduceScatter; }},
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
      {"mma_rows: wgmma's rows cannot be tokens for a token tile of 8 with edge dsm and layout "
       "out_in: tokens can with a grid edge and layout out_in, where each of the row groups has "
       "whole tiles of 64",
       [](FusionPlan& p) { p.mma_rows = MmaRows::kTokens; }},
      {"mma_rows: wgmma's rows cannot be tokens for a token tile of 64 with edge grid and layout "
       "in_out: tokens can with a grid edge and layout out_in, where each of the row groups has "
       "whole tiles of 64",
       [](FusionPlan& p) {
         p = SomeSplitPlan();
         p.problem.layout = WeightLayout::kInOut;
         p.num_clusters = 22;
         p.up.rows_per_pass = 128;
         p.down.rows_per_pass = 192;
       }},
      {"mma_rows: wgmma's rows cannot be tokens for a token tile of 64 with edge grid and layout "
       "out_in: tokens can with a grid edge and layout out_in, where each of the row groups has "
       "whole tiles of 64",
       [](FusionPlan& p) {
         p = SomeSplitPlan();
         p.up.k_warpgroups = 1;  // half a tile for each warpgroup
       }},
      {"multicast_reachable: activations cannot be multicast over 8 CTAs: at least 2 share them, "
       "and each copies whole groups of 8 of the 8 tokens",
       [](FusionPlan& p) { p.activation_multicast = true; }},
      {"multicast_reachable: activations cannot be multicast over 1 CTAs: at least 2 share them, "
       "and each copies whole groups of 8 of the 64 tokens",
       [](FusionPlan& p) {
         p = SomeSplitPlan();
         p.cluster_size = 1;
         p.num_clusters = 115;
         p.down = {.rows_per_pass = 40, .k_per_slot = 64, .k_warpgroups = 2};
         p.combine = Combine::kNone;
       }},
      {"k_ctas: k split over 1 (up) and 2 (down) CTAs with combine ordered_partials: phase 1 is "
       "not split; phase 2 is with dsm_reduce_scatter alone, in one pass, by a divisor of the "
       "cluster's 8 CTAs and of a pass's 16 strips of 16 wgmma rows, with k left for each",
       [](FusionPlan& p) { p.down.k_ctas = 2; }},
      {SplitSentence(2, 4, 4), [](FusionPlan& p) { (p = SomeSplitPlan()).up.k_ctas = 2; }},
      {SplitSentence(1, 1, 4), [](FusionPlan& p) { (p = SomeSplitPlan()).down.k_ctas = 1; }},
      {SplitSentence(1, 3, 4), [](FusionPlan& p) { (p = SomeSplitPlan()).down.k_ctas = 3; }},
      {SplitSentence(1, 4, 4),
       [](FusionPlan& p) {
         p = SomeSplitPlan();
         p.down.rows_per_pass = 72;
         p.down.passes = 2;
       }},
      {SplitSentence(1, 4, 4),  // the fourth part of 192 begins at its end
       [](FusionPlan& p) { (p = SomeSplitPlan()).problem.intermediate = DimN(192); }},
      {SplitSentence(1, 8, 8),  // 4 strips for 8 CTAs
       [](FusionPlan& p) {
         p = SomeSplitPlan();
         p.cluster_size = 8;
         p.num_clusters = 15;
         p.down.rows_per_pass = 256;
         p.down.k_ctas = 8;
         p.problem.hidden = DimK(3840);
       }},
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
      {"sums_fit: sums of 114688 bytes from 7 CTAs that split k exceed the rings' 101376 bytes, "
       "which are to receive them",
       [](FusionPlan& p) {
         // 136 rows are 3 tiles, which two warpgroups pad to 4, but a slot has 136.
         p = SomeSplitPlan();
         p.problem = {.hidden = DimK(2040), .intermediate = DimN(7680)};
         p.token_tile = 128;
         p.mma_rows = MmaRows::kWeights;
         p.cluster_size = 8;
         p.num_clusters = 15;
         p.ring_slots = p.slots_in_flight = p.activation_slots = 3;
         p.up = {.rows_per_pass = 64, .k_per_slot = 64};
         p.down = {.rows_per_pass = 136, .k_per_slot = 64, .k_ctas = 8};
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
