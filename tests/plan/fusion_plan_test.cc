#include "src/plan/fusion_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "src/base/status.h"
#include "tests/plan/some_plan.h"
#include "tests/reference/variant_problems.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSomePlanJson =
    R"({"problem":{"op":"ffn","hidden":4096,"intermediate":11008,"dtype":"bf16",)"
    R"("activation":"silu","form":"gated","residual_mode":"none",)"
    R"("norm":"none","rounding":"engine","up_bias":0,"down_bias":0,"layout":"out_in"},)"
    R"("token_tile":8,)"
    R"("cluster_size":8,"num_clusters":15,"consumer_warpgroups":2,"mma_rows":"weights",)"
    R"("ring_slots":6,"slots_in_flight":3,"activation_slots":8,)"
    R"("up":{"rows_per_pass":96,"passes":1,"k_per_slot":64,"k_warpgroups":1,"k_ctas":1},)"
    R"("down":{"rows_per_pass":256,"passes":2,"k_per_slot":64,"k_warpgroups":1,"k_ctas":1},)"
    R"("edge":{"scope":"dsm","collective":"gather"},)"
    R"("combine":"ordered_partials","combine_patience_cycles":50000,)"
    R"("activation_multicast":0})";

TEST(FusionPlanTest, PrintsAStableJsonAndReadsItBack) {
  EXPECT_EQ(SomePlan().ToJson(), kSomePlanJson);
  const absl::StatusOr<FusionPlan> read = FusionPlan::FromJson(kSomePlanJson);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, SomePlan());
}

TEST(FusionPlanTest, CarriesTheOtherKindThroughItsJson) {
  const std::string text = SomeSplitPlan().ToJson();
  for (const char* field : {R"("mma_rows":"tokens")", R"("k_ctas":4})", R"("scope":"grid")",
                            R"("combine":"dsm_reduce_scatter")", R"("activation_multicast":1)"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
  const absl::StatusOr<FusionPlan> read = FusionPlan::FromJson(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, SomeSplitPlan());
}

// Every variant of the op: each survives its JSON and is a plan of its own.
TEST(FusionPlanTest, CarriesEveryVariantThroughItsJsonAndFingerprint) {
  std::vector<FfnProblem> problems = VariantProblems(4096, 11008);
  FusionPlan plan = SomePlan();
  std::set<std::string> fingerprints;
  for (const FfnProblem& problem : problems) {
    plan.problem = problem;
    const absl::StatusOr<FusionPlan> read = FusionPlan::FromJson(plan.ToJson());
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << plan.ToJson();
    EXPECT_EQ(*read, plan);
    EXPECT_TRUE(fingerprints.insert(plan.PlanFingerprint().ToHex()).second) << problem.Name();
  }
}

TEST(FusionPlanTest, FieldsOfThePlanCountInTheFingerprint) {
  void (*const kChanges[])(FusionPlan&) = {
      [](FusionPlan& p) { p.activation_slots = 4; },
      [](FusionPlan& p) { p.down.k_per_slot = 128; },
      [](FusionPlan& p) { p.down.k_ctas = 2; },
      [](FusionPlan& p) { p.mma_rows = MmaRows::kTokens; },
      [](FusionPlan& p) { p.activation_multicast = true; },
      [](FusionPlan& p) { p.combine = Combine::kDsmReduceScatter; },
  };
  std::set<std::string> fingerprints = {SomePlan().PlanFingerprint().ToHex()};
  EXPECT_TRUE(fingerprints.contains(SomePlan().PlanFingerprint().ToHex()));
  for (const auto& change : kChanges) {
    FusionPlan plan = SomePlan();
    change(plan);
    EXPECT_TRUE(fingerprints.insert(plan.PlanFingerprint().ToHex()).second) << plan.ToJson();
  }
}

TEST(FusionPlanTest, RefusesWhatIsNoPlan) {
  const struct {
    std::string from, to, sentence;
  } kCases[] = {
      {"\"cluster_size\":8,", "", "plan: cluster_size is missing"},
      {"\"cluster_size\":8,", "\"cluster_size\":8,\"cluster\":8,",
       "plan: cluster is no field that is known"},
      {"\"cluster_size\":8,", "\"cluster_size\":0,", "plan: cluster_size is 0; accepted: 1 to 64"},
      {"\"cluster_size\":8,", "\"cluster_size\":\"8\",",
       "plan: cluster_size is a string; an integer is expected"},
      {"\"passes\":2", "\"passes\":1e9", "plan: down.passes is a fraction; an integer is expected"},
      {"\"silu\"", "\"swish\"",
       "plan: problem.activation is \"swish\"; accepted: silu, gelu_erf, relu, gelu_tanh, "
       "relu_squared, gelu_new"},
      {"\"dsm\"", "\"warp\"", "plan: edge.scope is \"warp\"; accepted: smem, dsm, grid"},
      {"\"mma_rows\":\"weights\",", "", "plan: mma_rows is missing"},
      {"\"weights\"", "\"columns\"", "plan: mma_rows is \"columns\"; accepted: weights, tokens"},
      {",\"k_ctas\":1", "", "plan: up.k_ctas is missing"},
      {"\"k_ctas\":1", "\"k_ctas\":0", "plan: up.k_ctas is 0; accepted: 1 to 64"},
      {"\"ordered_partials\"", "\"atomics\"",
       "plan: combine is \"atomics\"; accepted: none, ordered_partials, dsm_reduce_scatter"},
      {",\"activation_multicast\":0", "", "plan: activation_multicast is missing"},
      {"\"activation_multicast\":0", "\"activation_multicast\":2",
       "plan: activation_multicast is 2; accepted: 0 to 1"},
      {"\"op\":\"ffn\"", "\"op\":\"attention_block\"",
       "plan: problem.op is \"attention_block\"; accepted: ffn"},
      {"11008", "11010", "dim_granule: intermediate 11010 is not a multiple of 8 elements"},
      {"\"norm\":\"none\",", "", "plan: problem.norm is missing"},
      {"\"rounding\":\"engine\",", "", "plan: problem.rounding is missing"},
      {"\"up_bias\":0,", "", "plan: problem.up_bias is missing"},
      {",\"down_bias\":0", "", "plan: problem.down_bias is missing"},
      {"\"up_bias\":0", "\"up_bias\":2", "plan: problem.up_bias is 2; accepted: 0 to 1"},
      {"\"up_bias\":0", "\"up_bias\":false",
       "plan: problem.up_bias is a boolean; an integer is expected"},
      {"\"norm\":\"none\"", "\"norm\":\"batch\"",
       "plan: problem.norm is \"batch\"; accepted: none, rms, rms_plus_one, layer"},
      {"\"engine\"", "\"vllm\"", "plan: problem.rounding is \"vllm\"; accepted: fused, engine"},
      {"\"bf16\"", "\"fp8\"", "plan: problem.dtype is \"fp8\"; accepted: bf16, fp16"},
      {"\"residual_mode\":\"none\"", "\"residual_mode\":\"sandwich\"",
       "ffn: residual mode sandwich needs a norm"},
  };
  for (const auto& c : kCases) {
    const std::string text = absl::StrReplaceAll(kSomePlanJson, {{c.from, c.to}});
    ASSERT_NE(text, kSomePlanJson) << c.from;
    const absl::Status status = FusionPlan::FromJson(text).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.sentence));
  }
}

TEST(FusionPlanTest, SummarisesInOneLine) {
  EXPECT_EQ(SomePlan().Summary(),
            "c8x15 t8 up1x96x64 down2x256x64 wg2 ring6/3+8 p50000 dsm_gather");
  FusionPlan plan = SomePlan();
  plan.up.k_warpgroups = 2;
  plan.combine_patience_cycles = 0;
  EXPECT_EQ(plan.Summary(), "c8x15 t8 up1x96x64/2 down2x256x64 wg2 ring6/3+8 dsm_gather");
  EXPECT_EQ(
      SomeSplitPlan().Summary(),
      "c4x29 t64 up1x96x64/2 down1x144x64/2/c4 wg2 ring4/4+4 token_rows multicast grid_gather");
}

}  // namespace
}  // namespace fusebox
