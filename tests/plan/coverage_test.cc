#include "src/plan/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "src/plan/legality.h"
#include "src/plan/search.h"
#include "tests/plan/model_dims.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

TEST(CoverageTest, TheChosenPlanOfEveryModelIsWhole) {
  const DeviceSpec device = H200();
  for (const ModelDims& model : AllModels()) {
    for (int tensor_parallel : {1, 2, 4, 8}) {
      for (int tile : kTokenTiles) {
        const absl::StatusOr<SearchReport> report =
            Search(ProblemOf(model, tensor_parallel), tile, device);
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_TRUE(CheckCoverage(report->best.plan).ok())
            << report->best.plan.ToJson() << ": " << CheckCoverage(report->best.plan);
      }
    }
  }
}

TEST(CoverageTest, CatchesABrokenPlan) {
  const struct {
    std::string sentence;
    std::function<void(FusionPlan&)> change;
  } kCases[] = {
      {"gate row 10752, column 0 is used 0 times", [](FusionPlan& p) { p.num_clusters = 14; }},
      {"gate row 8448, column 0 is used 0 times",  // chunks of 704 leave the end of the matrix out
       [](FusionPlan& p) {
         p.up.rows_per_pass = 88;
         p.num_clusters = 12;
       }},
      {"down row 256, column 0 is used 0 times",
       [](FusionPlan& p) {
         p.down.passes = 1;
         p.cluster_size = 1;
         p.up.rows_per_pass = 768;
       }},
      {"down row 1024, column 0 is used 0 times",
       [](FusionPlan& p) {
         p.cluster_size = 2;
         p.up.rows_per_pass = 384;
       }},
  };
  EXPECT_TRUE(CheckCoverage(SomePlan()).ok()) << CheckCoverage(SomePlan());
  for (const auto& c : kCases) {
    FusionPlan plan = SomePlan();
    c.change(plan);
    EXPECT_THAT(std::string(CheckCoverage(plan).message()), HasSubstr(c.sentence));
  }
}

TEST(CoverageTest, CatchesABrokenWorkList) {
  const struct {
    std::string sentence;
    std::function<void(CtaWork&)> change;  // of cluster 3, rank 2
  } kCases[] = {
      {"gate row 2496, column 64 is used 0 times",
       [](CtaWork& w) { w.up.erase(w.up.begin() + 1); }},
      {"gate row 2496, column 64 is used 0 times",
       [](CtaWork& w) { w.up[1].boxes[0].matrix = WeightMatrix::kUp; }},
      {"up column 128 meets operand element 64, not 128",
       [](CtaWork& w) { w.up[1].boxes[1].k_begin = 128; }},
      {"down columns up to 3080 are multiplied beyond the end of h, 3072",
       [](CtaWork& w) {
         w.down[11].boxes[0].k_begin += 8;
         w.down[11].operand_begin += 8;
         w.down[11].boxes[0].used_k_end += 8;
       }},
      {"down row 1024, column 3064 is used 0 times",
       [](CtaWork& w) { w.down[11].boxes[0].used_k_end -= 8; }},
      {"h row 2568, column 0 is used 0 times", [](CtaWork& w) { w.slice_rows -= 24; }},
      {"is used 0 times", [](CtaWork& w) { w.outputs.front().num_rows = 8; }},
      {"y (row = output, column = token) row",
       [](CtaWork& w) { w.outputs.push_back(w.outputs.front()); }},
      {"a slot of 32768 bytes is filled with 57344",
       [](CtaWork& w) { w.up[1].boxes[0].num_rows = 352; }},
  };
  for (const auto& c : kCases) {
    const absl::Status status = CheckCoverage(SomePlan(), [&](CtaPlace place) {
      CtaWork work = WorkOf(SomePlan(), place);
      if (place.cluster == 3 && place.rank == 2) c.change(work);
      return work;
    });
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.sentence));
  }
}

// Tokens in wgmma's rows, and weights.
TEST(CoverageTest, PlansThatSplitKOverCtasAreWhole) {
  for (const MmaRows rows : {MmaRows::kTokens, MmaRows::kWeights}) {
    for (const int k_ctas : {2, 4}) {
      FusionPlan plan = SomeSplitPlan();
      plan.mma_rows = rows;
      plan.down.k_ctas = k_ctas;
      EXPECT_TRUE(CheckCoverage(plan).ok()) << plan.Summary() << ": " << CheckCoverage(plan);
    }
  }
}

TEST(CoverageTest, APlanThatSplitsKOverEightCtasIsWhole) {
  FusionPlan plan = SomeSplitPlan();
  plan.problem.hidden = DimK(2040);
  plan.mma_rows = MmaRows::kWeights;
  plan.cluster_size = 8;
  plan.num_clusters = 15;
  plan.down = {.rows_per_pass = 136, .k_per_slot = 64, .k_ctas = 8};
  EXPECT_TRUE(CheckLegal(plan, H200()).ok()) << CheckLegal(plan, H200());
  EXPECT_TRUE(CheckCoverage(plan).ok()) << CheckCoverage(plan);
}

TEST(CoverageTest, CatchesABrokenSplitOverCtas) {
  const struct {
    std::string sentence;
    std::function<void(FusionPlan&)> change;
  } kCases[] = {
      {"down row 0, column 0 is used 2 times", [](FusionPlan& p) { p.down.k_ctas = 8; }},
      {"down row 4032, column 0 is used 0 times",
       [](FusionPlan& p) { p.num_clusters = 28, p.up.rows_per_pass = 104; }},
  };
  for (const auto& c : kCases) {
    FusionPlan plan = SomeSplitPlan();
    c.change(plan);
    EXPECT_THAT(std::string(CheckCoverage(plan).message()), HasSubstr(c.sentence));
  }
}

TEST(CoverageTest, CatchesABrokenWorkListOfASplitOverCtas) {
  const struct {
    std::string sentence;
    std::function<void(CtaWork&)> change;  // of cluster 3, rank 2: outputs 432 .. 576, k from 5504
  } kCases[] = {
      {"down row 432, column 5568 is used 0 times",
       [](CtaWork& w) { w.down.erase(w.down.begin() + 1); }},
      {"down row 432, column 0 is used 2 times",
       [](CtaWork& w) { w.down = WorkOf(SomeSplitPlan(), {.cluster = 3, .rank = 0}).down; }},
      {"is used 0 times", [](CtaWork& w) { w.outputs.front().num_tokens = 8; }},
      {"is used 2 times",
       [](CtaWork& w) { w.outputs = WorkOf(SomeSplitPlan(), {.cluster = 3, .rank = 1}).outputs; }},
  };
  for (const auto& c : kCases) {
    const absl::Status status = CheckCoverage(SomeSplitPlan(), [&](CtaPlace place) {
      CtaWork work = WorkOf(SomeSplitPlan(), place);
      if (place.cluster == 3 && place.rank == 2) c.change(work);
      return work;
    });
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.sentence));
  }
}

// 18 blocks of 8 output rows and 4 strips of 16 tokens: 72 units, 18 for each of 4 CTAs.
TEST(CoverageTest, CtasThatSplitKFinishEqualParts) {
  for (int rank = 0; rank < 4; ++rank) {
    const CtaWork work = WorkOf(SomeSplitPlan(), {.cluster = 3, .rank = rank});
    EXPECT_EQ(work.output_begin, 3 * 144);
    EXPECT_EQ(work.outputs.size(), 18u);
    EXPECT_EQ(work.outputs.front().num_rows, 8);
    EXPECT_EQ(work.outputs.front().num_tokens, 16);
    EXPECT_EQ(work.outputs.front().token_begin, 16 * rank);
  }
}

}  // namespace
}  // namespace fusebox
