#include "src/plan/ladder.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/base/status.h"
#include "src/plan/legality.h"
#include "tests/plan/model_dims.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

// A failure's problem as code to paste.
std::string Case(const ModelDims& model, int tensor_parallel, int tile) {
  return model.name + " tp " + std::to_string(tensor_parallel) + " tile " + std::to_string(tile);
}

template <typename Check>
void ForEveryModel(const DeviceSpec& device, Check check) {
  for (const ModelDims& model : AllModels()) {
    for (const int tensor_parallel : {1, 4}) {
      for (const int tile : kTokenTiles) {
        SCOPED_TRACE(Case(model, tensor_parallel, tile));
        const FfnProblem problem = ProblemOf(model, tensor_parallel);
        const auto ladder = BuildLadder(problem, tile, device);
        ASSERT_TRUE(ladder.ok()) << ladder.status();
        check(problem, tile, *ladder);
      }
    }
  }
}

TEST(LadderTest, BeginsWithTheSearchsChoice) {
  const DeviceSpec device = H200();
  ForEveryModel(device, [&](const FfnProblem& problem, int tile, const auto& ladder) {
    const SearchReport report = Search(problem, tile, device).value();
    EXPECT_EQ(ladder.front().report.best.plan, report.best.plan);
    EXPECT_EQ(ladder.front().report.ToJson(), report.ToJson());
    EXPECT_EQ(ladder.front().residency, Residency::kAllClusters);
  });
}

TEST(LadderTest, EveryRungIsLegalAndAsksForLessThanTheOneBefore) {
  for (const std::string_view profile : DeviceProfileNames()) {
    const DeviceSpec device = FindDeviceProfile(profile).value();
    ForEveryModel(device, [&](const FfnProblem&, int, const auto& ladder) {
      ASSERT_LE(ladder.size(), kMaxRungs);
      int ctas_before = 1 << 20;
      for (const LadderRung& rung : ladder) {
        const FusionPlan& plan = rung.report.best.plan;
        EXPECT_TRUE(CheckLegal(plan, device).ok()) << CheckLegal(plan, device);
        const int ctas_needed = ClustersNeeded(plan, rung.residency) * plan.cluster_size;
        EXPECT_LT(ctas_needed, ctas_before) << plan.Summary();
        ctas_before = ctas_needed;
      }
    });
  }
}

// At large token tiles h may fit no cluster; then every plan gathers over the grid, and none runs
// in waves.
TEST(LadderTest, EndsWithAPlanThatNeedsOnePortableClusterWhereThereIsOne) {
  const DeviceSpec device = H200();
  const auto runs_in_waves = [](const FusionPlan& plan) {
    return plan.edge_scope == Scope::kDsm && plan.combine_patience_cycles == 0 &&
           plan.cluster_size <= kPortableClusterSize;
  };
  int in_waves = 0;
  ForEveryModel(device, [&](const FfnProblem& problem, int tile, const auto& ladder) {
    const LadderRung& last = ladder.back();
    if (last.residency == Residency::kOneCluster) {
      ++in_waves;
      EXPECT_TRUE(runs_in_waves(last.report.best.plan)) << last.report.best.plan.Summary();
      return;
    }
    const auto missed = Search(problem, tile, device, {.admits = runs_in_waves});
    EXPECT_TRUE(IsDeclined(missed.status())) << missed->best.plan.Summary();
  });
  EXPECT_GT(in_waves, 0);
}

TEST(LadderTest, OnlyTheLastRungRunsInWaves) {
  ForEveryModel(H200(), [&](const FfnProblem&, int, const auto& ladder) {
    for (size_t i = 0; i + 1 < ladder.size(); ++i) {
      EXPECT_EQ(ladder[i].residency, Residency::kAllClusters);
    }
  });
}

TEST(LadderTest, APlanThatGathersOverTheGridNeedsAllOfItsClustersAlways) {
  FusionPlan plan = SomePlan();
  EXPECT_EQ(ClustersNeeded(plan, Residency::kOneCluster), 1);
  plan.edge_scope = Scope::kGrid;
  EXPECT_EQ(ClustersNeeded(plan, Residency::kOneCluster), plan.num_clusters);
}

TEST(LadderTest, LowerRungsAskForClearlyFewerCtasOrForPortableClusters) {
  const DeviceSpec device = H200();
  int with_a_middle_rung = 0;
  ForEveryModel(device, [&](const FfnProblem&, int, const auto& ladder) {
    const FusionPlan& first = ladder.front().report.best.plan;
    if (ladder.size() < kMaxRungs) return;
    ++with_a_middle_rung;
    const FusionPlan& second = ladder[1].report.best.plan;
    EXPECT_LE(second.cluster_size, kPortableClusterSize);
    if (first.cluster_size <= kPortableClusterSize) {
      EXPECT_LE(4 * second.grid_ctas(), 3 * first.grid_ctas());
    }
  });
  EXPECT_GT(with_a_middle_rung, 0);
}

TEST(LadderTest, IsDeterministic) {
  const auto first = BuildLadder(SomePlan().problem, 16, H200()).value();
  const auto second = BuildLadder(SomePlan().problem, 16, H200()).value();
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].report.ToJson(), second[i].report.ToJson());
  }
}

TEST(LadderTest, DeclinesWhatTheSearchDeclines) {
  const FfnProblem huge{.hidden = DimK(65536), .intermediate = DimN(524288)};
  const absl::Status status = BuildLadder(huge, 128, H200()).status();
  EXPECT_TRUE(IsDeclined(status)) << status;
  EXPECT_EQ(status, Search(huge, 128, H200()).status());
}

TEST(LadderTest, AClusterBeyondThePortableSizeGivesWayToOneWithin) {
  DeviceSpec device = H200();
  for (ClusterCapacity& cluster : device.clusters) {
    if (cluster.cluster_size <= kPortableClusterSize) cluster.resident_ctas /= 2;
  }
  const FfnProblem problem = {.hidden = DimK(4096), .intermediate = DimN(11008)};
  const auto ladder = BuildLadder(problem, 8, device).value();
  ASSERT_EQ(ladder.size(), kMaxRungs);
  EXPECT_EQ(ladder[0].report.best.plan.cluster_size, 16);
  EXPECT_LE(ladder[1].report.best.plan.cluster_size, kPortableClusterSize);
  EXPECT_EQ(ladder[1].residency, Residency::kAllClusters);
}

}  // namespace
}  // namespace fusebox
