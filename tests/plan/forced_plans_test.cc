#include "src/plan/forced_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "src/plan/legality.h"
#include "src/shape/problem_json.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

// A legal plan of the same op at another tile.
FusionPlan OtherPlan() { return Search(SomePlan().problem, 16, H200()).value().best.plan; }

ForcedPlans Forcing(const FusionPlan& plan) { return ForcedPlans::Parse(plan.ToJson()).value(); }

TEST(ForcedPlansTest, APlanIsFoundForItsOpAndTileAlone) {
  const ForcedPlans forced = Forcing(SomePlan());
  const FusionPlan* const found = forced.Find(SomePlan().problem, 8);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, SomePlan());
  EXPECT_EQ(forced.Find(SomePlan().problem, 16), nullptr);
  FfnProblem other = SomePlan().problem;
  other.norm = Norm::kRms;
  EXPECT_EQ(forced.Find(other, 8), nullptr);
  EXPECT_FALSE(forced.HasPlanFor(other));
  EXPECT_EQ(forced.FirstName(), "ffn_gated_silu_bf16_h4096_i11008_t8");
}

TEST(ForcedPlansTest, PlansAreReadOneALineAndOneOverManyLines) {
  const std::string lines = absl::StrCat("\n", SomePlan().ToJson(), "\n", OtherPlan().ToJson());
  EXPECT_EQ(ForcedPlans::Parse(lines).value().size(), 2u);
  const std::string pretty = nlohmann::json::parse(SomePlan().ToJson()).dump(2) + "\n";
  EXPECT_EQ(*ForcedPlans::Parse(pretty).value().Find(SomePlan().problem, 8), SomePlan());
}

TEST(ForcedPlansTest, ABadTextIsNamedByItsLine) {
  FusionPlan bad_dims = SomePlan();
  bad_dims.problem.hidden = DimK(4100);
  const struct {
    std::string text;
    const char* sentence;
  } cases[] = {
      {"", "there is no plan in the text"},
      {"c8x15 t8", "line 1: plan: the text is not JSON from byte 1 on"},
      {SomePlan().ToJson() + "\n{}", "line 2: plan: problem.op is missing"},
      {SomePlan().ToJson() + "\n" + SomePlan().ToJson(),
       "line 2: plan: there is another plan for ffn_gated_silu_bf16_h4096_i11008 at token tile 8"},
      {bad_dims.ToJson(), "dim_granule: hidden 4100"},
      {"[]", "plan: the text is a JSON array; an object is expected"},
  };
  for (const auto& [text, sentence] : cases) {
    const auto forced = ForcedPlans::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(forced.status())) << text;
    EXPECT_THAT(std::string(forced.status().message()), HasSubstr(sentence));
  }
}

TEST(ForcedPlansTest, AForcedPlanIsTheBestAndTheSearchsChoiceARunnerUp) {
  const SearchReport searched = Search(SomePlan().problem, 8, H200()).value();
  const FusionPlan forced = searched.runners_up.back().plan;
  const SearchReport report = SearchForced(forced.problem, 8, H200(), Forcing(forced)).value();
  EXPECT_EQ(report.best.plan, forced);
  EXPECT_EQ(report.best.cost.us(), searched.runners_up.back().cost.us());
  EXPECT_EQ(report.chosen_by, ChosenBy::kForced);
  EXPECT_EQ(report.num_legal, searched.num_legal);
  int num_searched = 0;
  double previous_us = 0;
  for (const RankedPlan& ranked : report.runners_up) {
    num_searched += ranked.plan == searched.best.plan ? 1 : 0;
    EXPECT_NE(ranked.plan, forced);
    EXPECT_GE(ranked.cost.us(), previous_us - 0.001);
    previous_us = ranked.cost.us();
  }
  EXPECT_EQ(num_searched, 1);
  EXPECT_EQ(nlohmann::json::parse(report.ToJson())["chosen_by"], "force");
}

TEST(ForcedPlansTest, WithoutAPlanForTheOpTheSearchChooses) {
  const ForcedPlans forced = Forcing(OtherPlan());
  EXPECT_EQ(SearchForced(SomePlan().problem, 8, H200(), forced).value().ToJson(),
            Search(SomePlan().problem, 8, H200()).value().ToJson());
}

TEST(ForcedPlansTest, APlanThatNoCandidateLeadsToIsUsed) {
  FusionPlan forced = SomePlan();
  forced.combine_patience_cycles = 12345;
  ASSERT_TRUE(CheckLegal(forced, H200()).ok());
  EXPECT_EQ(SearchForced(forced.problem, 8, H200(), Forcing(forced)).value().best.plan, forced);
}

TEST(ForcedPlansTest, AnIllegalPlanFailsWithTheRulesSentence) {
  FusionPlan forced = SomePlan();
  forced.num_clusters = 14;  // leaves rows to nobody
  const auto report = SearchForced(forced.problem, 8, H200(), Forcing(forced));
  EXPECT_TRUE(absl::IsInvalidArgument(report.status()));
  EXPECT_THAT(std::string(report.status().message()),
              HasSubstr("is not legal on h200-sxm: covers_intermediate: 14 clusters of 768 rows"));
}

TEST(ForcedPlansTest, APlansProblemIsSpelledAsEverywhere) {
  for (const FusionPlan& plan : {SomePlan(), OtherPlan()}) {
    EXPECT_EQ(nlohmann::ordered_json::parse(plan.ToJson())["problem"], ProblemToJson(plan.problem));
  }
}

TEST(ForcedPlansTest, ThoseThatAcceptanceSanitizesAreLegalAndOfEveryKind) {
  std::ifstream file("tests/gpu/grid_gather_plans.jsonl");
  std::set<std::tuple<Scope, MmaRows, bool, bool>> kinds;
  int num_plans = 0;
  for (std::string line; std::getline(file, line); ++num_plans) {
    const FusionPlan plan = FusionPlan::FromJson(line).value();
    EXPECT_TRUE(CheckLegal(plan, H200()).ok()) << line << ": " << CheckLegal(plan, H200());
    kinds.emplace(plan.edge_scope, plan.mma_rows, plan.down.k_ctas > 1, plan.activation_multicast);
  }
  EXPECT_EQ(num_plans, 7);
  EXPECT_EQ(kinds, (std::set<std::tuple<Scope, MmaRows, bool, bool>>{
                       {Scope::kDsm, MmaRows::kWeights, false, true},
                       {Scope::kGrid, MmaRows::kWeights, false, false},
                       {Scope::kGrid, MmaRows::kWeights, true, false},
                       {Scope::kGrid, MmaRows::kWeights, true, true},
                       {Scope::kGrid, MmaRows::kTokens, true, true}}));
}

}  // namespace
}  // namespace fusebox
