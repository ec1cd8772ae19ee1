#include "runtime/tools/plan_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/tools/plan_file.h"
#include "src/device/device_profiles.h"
#include "src/plan/candidates.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "src/plan/search.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

constexpr size_t kSampleSize = 48;

const DeviceSpec& H200() {
  static const auto* const device = new DeviceSpec(FindDeviceProfile("h200-sxm").value());
  return *device;  // asked for by every candidate
}

FusionPlan ChoiceFor(int64_t hidden, int64_t intermediate, int token_tile) {
  const FfnProblem problem = {.hidden = DimK(hidden), .intermediate = DimN(intermediate)};
  return Search(problem, token_tile, H200()).value().best.plan;
}

std::set<FusionPlan> LegalPlansLike(const FusionPlan& plan) {
  std::set<FusionPlan> legal;
  ForEachCandidate(plan.problem, plan.token_tile, H200(), [&](const FusionPlan& candidate) {
    if (FirstBrokenRule(candidate, H200()) == nullptr) legal.insert(candidate);
  });
  return legal;
}

TEST(PlanSampleTest, HoldsTheChoiceFirstAndLegalPlansOnce) {
  for (const int tile : {8, 32, 128}) {
    const FusionPlan chosen = ChoiceFor(2048, 5632, tile);
    const std::vector<FusionPlan> sample = SamplePlans(chosen, H200(), kSampleSize);
    const std::set<FusionPlan> legal = LegalPlansLike(chosen);
    EXPECT_EQ(sample.size(), std::min(kSampleSize, legal.size())) << "tile " << tile;
    EXPECT_EQ(sample.front(), chosen);
    const std::set<FusionPlan> once(sample.begin(), sample.end());
    EXPECT_EQ(once.size(), sample.size());
    EXPECT_TRUE(std::includes(legal.begin(), legal.end(), once.begin(), once.end()));
  }
}

TEST(PlanSampleTest, HoldsAllLegalPlansWhereThereAreNoMore) {
  const FusionPlan chosen = ChoiceFor(5120, 13824, 128);
  const std::set<FusionPlan> legal = LegalPlansLike(chosen);
  const std::vector<FusionPlan> sample = SamplePlans(chosen, H200(), legal.size() + 1);
  EXPECT_EQ(std::set<FusionPlan>(sample.begin(), sample.end()), legal);
  EXPECT_EQ(sample.size(), legal.size());
}

TEST(PlanSampleTest, HoldsEveryDataflowAndClusterShapeAndTheCheapestOfEach) {
  const FusionPlan chosen = ChoiceFor(2048, 5632, 8);
  std::map<std::pair<Scope, int>, double> least_us, least_sampled_us;
  const auto note = [](std::map<std::pair<Scope, int>, double>& least, const FusionPlan& plan) {
    const double us = EstimateCost(plan, H200()).us();
    const auto [found, is_new] = least.emplace(std::pair(plan.edge_scope, plan.cluster_size), us);
    if (!is_new) found->second = std::min(found->second, us);
  };
  for (const FusionPlan& plan : LegalPlansLike(chosen)) note(least_us, plan);
  for (const FusionPlan& plan : SamplePlans(chosen, H200(), kSampleSize)) {
    note(least_sampled_us, plan);
  }
  EXPECT_GE(least_us.size(), 4u) << "the op has too few kinds of plans to show anything";
  EXPECT_EQ(least_sampled_us, least_us);
}

TEST(PlanSampleTest, NoStratumIsEmptyWhileAnotherGivesTwo) {
  const FusionPlan chosen = ChoiceFor(2048, 5632, 8);
  const std::set<FusionPlan> legal = LegalPlansLike(chosen);
  const auto cost_of = [](const FusionPlan& plan) { return EstimateCost(plan, H200()).us(); };
  double least_us = cost_of(chosen);
  for (const FusionPlan& plan : legal) least_us = std::min(least_us, cost_of(plan));
  const auto kind_of = [&](const FusionPlan& plan) {
    const double ratio = cost_of(plan) / least_us;
    const auto band = std::upper_bound(std::begin(kBandEnds), std::end(kBandEnds), ratio);
    return std::tuple(plan.edge_scope, plan.cluster_size, band - std::begin(kBandEnds));
  };
  std::map<decltype(kind_of(chosen)), int> available, sampled;
  for (const FusionPlan& plan : legal) ++available[kind_of(plan)];
  for (const FusionPlan& plan : SamplePlans(chosen, H200(), kSampleSize)) ++sampled[kind_of(plan)];
  ASSERT_LT(available.size(), kSampleSize) << "the sample cannot hold one of each";
  for (const auto& [kind, count] : available) EXPECT_GE(sampled[kind], 1);
}

TEST(PlanSampleTest, TheCommandPrintsItForEveryOpAndTile) {
  TemporaryFolder folder;
  WriteText(folder.path("shapes.json"),
            R"([{"name": "A", "hidden": 576, "intermediate": 1536, "form": "gated",
                 "activation": "silu"},
                {"name": "B", "hidden": 1024, "intermediate": 4096, "form": "plain",
                 "activation": "relu"}])");
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h200-sxm", "--tokens", "8,32", "--shapes",
                  folder.path("shapes.json"), "--sample", "5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  WriteText(folder.path("plans.jsonl"), result.out);
  const std::vector<GivenPlan> plans = ReadPlanFile(folder.path("plans.jsonl")).value();
  std::map<std::pair<std::string, int64_t>, int> of_group, chosen_of_group;
  std::string printed_again;
  for (const GivenPlan& given : plans) {
    ++of_group[{given.model, given.tokens}];
    chosen_of_group[{given.model, given.tokens}] += given.is_chosen ? 1 : 0;
    printed_again += PlanFileLine(given);
  }
  EXPECT_THAT(of_group, testing::ElementsAre(testing::Pair(std::pair("A", 8), 5),
                                             testing::Pair(std::pair("A", 32), 5),
                                             testing::Pair(std::pair("B", 8), 5),
                                             testing::Pair(std::pair("B", 32), 5)));
  for (const auto& [group, count] : chosen_of_group) EXPECT_EQ(count, 1) << group.first;
  EXPECT_EQ(printed_again, result.out);
}

}  // namespace
}  // namespace fusebox
