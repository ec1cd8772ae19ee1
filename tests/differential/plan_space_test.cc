// Every legal plan of many small problems, not just the winner, through the plan interpreter:
// bitwise equal to the oracle on small integers, within the bound on random values, and whole by
// the coverage check. The search can then be changed without fear.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "src/device/device_profiles.h"
#include "src/plan/coverage.h"
#include "tests/differential/case_operands.h"
#include "tests/kernels/plan_sample.h"
#include "tests/reference/ffn_oracle.h"

namespace fusebox {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStride = 7;  // instrumented code is an order slower: every seventh plan
#else
constexpr int kStride = 1;
#endif

struct SmallProblem {
  FfnProblem problem;  // relu; the random cases use the form's own activation
  int token_tile;
  int64_t tokens;
};

// 16 dims x 2 forms x 2 token tiles; token counts and residual modes take turns.
std::vector<SmallProblem> SmallProblems() {
  constexpr std::pair<int, int> kDims[] = {
      {8, 8},    {8, 16},    {16, 8},    {24, 136},  {64, 64},   {72, 48},  {96, 96},   {96, 200},
      {128, 64}, {128, 272}, {136, 144}, {200, 104}, {64, 1000}, {264, 72}, {40, 1032}, {320, 80}};
  std::vector<SmallProblem> problems;
  for (const auto& [hidden, intermediate] : kDims) {
    for (FfnForm form : {FfnForm::kGated, FfnForm::kPlain}) {
      for (int variant : {0, 1}) {
        const size_t index = problems.size();
        const int tile =
            kTokenTiles[(index / 2 + static_cast<size_t>(variant)) % kTokenTiles.size()];
        const std::array<int64_t, 3> tokens = {tile, 1, tile - 1};
        problems.push_back({.problem = {.hidden = DimK(hidden),
                                        .intermediate = DimN(intermediate),
                                        .activation = Activation::kRelu,
                                        .form = form,
                                        .residual_mode = index % 4 < 2 ? ResidualMode::kNone
                                                                       : ResidualMode::kAddAfter},
                            .token_tile = tile,
                            .tokens = tokens[index % tokens.size()]});
      }
    }
  }
  return problems;
}

// How deep the rings and the stream are and how patient the combine is decides when things happen,
// not what: the interpreter sees none of it, so of plans that differ in nothing else it runs one.
FusionPlan WithoutTiming(FusionPlan plan) {
  plan.ring_slots = plan.slots_in_flight = plan.activation_slots = 1;
  plan.combine_patience_cycles = 0;
  return plan;
}

class PlanSpaceTest : public testing::TestWithParam<SmallProblem> {};

TEST_P(PlanSpaceTest, EveryLegalPlanEqualsTheOracle) {
  const SmallProblem& small = GetParam();
  const std::vector<FusionPlan> plans =
      LegalPlans(small.problem, small.token_tile, FindDeviceProfile("h200-sxm").value());
  ASSERT_FALSE(plans.empty()) << small.problem.Name();

  FfnProblem own = small.problem;
  own.activation = own.form == FfnForm::kGated ? Activation::kSilu : Activation::kGeluErf;
  const reference::FfnCase integers =
      reference::MakeSmallIntegerCase(small.problem, small.tokens, 1);
  const reference::FfnCase random = reference::MakeRandomCase(own, small.tokens, 2);
  const reference::FfnReference exact = reference::ComputeReference(integers);
  const reference::FfnReference bounded = reference::ComputeReference(random);
  ASSERT_TRUE(exact.is_exact);

  double worst_ratio = 0;
  std::set<FusionPlan> distinct;
  for (size_t i = 0; i < plans.size(); i += kStride) {
    FusionPlan plan = plans[i];
    if (!distinct.insert(WithoutTiming(plan)).second) continue;
    EXPECT_TRUE(CheckCoverage(plan).ok()) << CheckCoverage(plan) << "\n" << plan.ToJson();
    const reference::Comparison equal =
        reference::CompareExactly(integers, exact, Interpret(plan, OperandsOf(integers)).value().y);
    ASSERT_TRUE(equal.ok()) << equal.failure << "\n" << plan.ToJson();
    plan.problem = own;
    const reference::Comparison close = reference::CompareWithinBound(
        random, bounded, Interpret(plan, OperandsOf(random)).value().y);
    ASSERT_TRUE(close.ok()) << close.failure << "\n" << plan.ToJson();
    worst_ratio = std::max(worst_ratio, close.worst_ratio);
  }
  RecordProperty("plans", static_cast<int>(plans.size()));
  RecordProperty("distinct_plans", static_cast<int>(distinct.size()));
  RecordProperty("worst_error_over_bound", std::to_string(worst_ratio));
}

// The judges must be able to say no: rows and clusters left out of a good plan show in the results.
TEST(BrokenPlanTest, DiffersFromTheOracle) {
  const SmallProblem small{
      .problem = {.hidden = DimK(64), .intermediate = DimN(1000), .activation = Activation::kRelu},
      .token_tile = 8,
      .tokens = 8};
  const reference::FfnCase input = reference::MakeSmallIntegerCase(small.problem, 8, 3);
  const reference::FfnReference exact = reference::ComputeReference(input);
  const std::vector<FusionPlan> plans =
      LegalPlans(small.problem, small.token_tile, FindDeviceProfile("h200-sxm").value());
  const auto found = std::find_if(plans.begin(), plans.end(),
                                  [](const FusionPlan& plan) { return plan.num_clusters > 1; });
  ASSERT_NE(found, plans.end());
  FusionPlan plan = *found;
  --plan.num_clusters;
  EXPECT_FALSE(
      reference::CompareExactly(input, exact, Interpret(plan, OperandsOf(input)).value().y).ok())
      << plan.ToJson();
}

// Of splits of k, multicast and token rows what the small problems leave out nothing here judges.
TEST(SmallProblemsTest, HavePlansOfEveryKind) {
  std::set<PlanKind> kinds;
  for (const SmallProblem& small : SmallProblems()) {
    const std::vector<FusionPlan> plans =
        LegalPlans(small.problem, small.token_tile, FindDeviceProfile("h200-sxm").value());
    for (const auto& [kind, of_kind] : KindsOf(plans)) kinds.insert(kind);
  }
  for (const bool multicasts : {false, true})
    EXPECT_TRUE(kinds.contains({Scope::kDsm, MmaRows::kWeights, 1, multicasts})) << multicasts;
  for (const MmaRows rows : {MmaRows::kWeights, MmaRows::kTokens}) {
    EXPECT_TRUE(kinds.contains({Scope::kGrid, rows, 1, false})) << ToString(rows);
    for (const int k_ctas : {2, 4})
      EXPECT_TRUE(kinds.contains({Scope::kGrid, rows, k_ctas, true})) << ToString(rows) << k_ctas;
  }
  // With weights in rows eight CTAs need more than 64 output rows each, too many for this test.
  EXPECT_TRUE(kinds.contains({Scope::kGrid, MmaRows::kTokens, 8, true}));
  EXPECT_TRUE(kinds.contains({Scope::kGrid, MmaRows::kWeights, 2, false}));
}

INSTANTIATE_TEST_SUITE_P(SmallProblems, PlanSpaceTest, testing::ValuesIn(SmallProblems()),
                         [](const testing::TestParamInfo<SmallProblem>& param) {
                           return param.param.problem.Name() + "_t" +
                                  std::to_string(param.param.token_tile) + "_m" +
                                  std::to_string(param.param.tokens);
                         });

}  // namespace
}  // namespace fusebox
