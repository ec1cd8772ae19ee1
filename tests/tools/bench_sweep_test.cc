#include "runtime/tools/bench_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fusebox {
namespace {

using testing::ElementsAre;

BenchRow Timed(double us, bool is_chosen = false) {
  return {.timing = {.median = us, .p10 = us, .p90 = us}, .is_chosen = is_chosen};
}

TEST(BenchSweepTest, TheFastestAndTheChosenAreTimedAgain) {
  const std::vector<BenchRow> rows = {Timed(5), Timed(9, true), Timed(3), Timed(4)};
  EXPECT_THAT(FastestAndChosen(rows, 2), ElementsAre(2, 3, 1));
  EXPECT_THAT(FastestAndChosen(rows, 9), ElementsAre(2, 3, 0, 1));
}

TEST(BenchSweepTest, AChoiceAmongTheFastestIsTimedAgainOnce) {
  EXPECT_THAT(FastestAndChosen({Timed(5), Timed(3, true)}, 1), ElementsAre(1));
}

TEST(BenchSweepTest, WhatHasNoTimingIsNotTimedAgain) {
  BenchRow failed = Timed(1, true);
  failed.failure = "it did not load";
  EXPECT_THAT(FastestAndChosen({failed, Timed(2)}, 2), ElementsAre(1));
}

TEST(BenchSweepTest, TheHeadSaysWhereAndWhenAndHasNoTiming) {
  const BenchReport report = {.gpu = "G", .date = "2026-12-01", .read_gb_per_s = 4600};
  const auto json = nlohmann::json::parse(SweepHead(report), nullptr, false);
  EXPECT_EQ(json["gpu"], "G");
  EXPECT_EQ(json["date"], "2026-12-01");
  EXPECT_EQ(json["read_gb_per_s"], 4600);
  EXPECT_FALSE(json.contains("us"));
}

TEST(BenchSweepTest, ALineSaysHowManyReplaysItsFigureIsOf) {
  BenchRow row = Timed(2.5, true);
  row.replays = 30;
  row.plan_json = R"({"token_tile":8})";
  const auto json = nlohmann::json::parse(SweepLine(row), nullptr, false);
  EXPECT_EQ(json["us"], 2.5);
  EXPECT_EQ(json["replays"], 30);
  EXPECT_EQ(json["chosen"], true);
  EXPECT_EQ(json["plan"]["token_tile"], 8);
  row.refusal = "not begun";
  const auto refused = nlohmann::json::parse(SweepLine(row), nullptr, false);
  EXPECT_EQ(refused["failure"], "not begun");
  EXPECT_FALSE(refused.contains("us"));
}

}  // namespace
}  // namespace fusebox
