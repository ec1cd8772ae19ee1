// Random problems of real and odd sizes through the whole of src/plan: each ends in a legal, whole
// plan that survives its JSON, or is declined by a rule with a sentence; never in a crash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/device/device_profiles.h"
#include "src/plan/coverage.h"
#include "src/plan/legality.h"
#include "src/plan/search.h"

namespace fusebox {
namespace {

constexpr int kNumProblems = 2000;

// Dimensions spread evenly over magnitudes from 8 to about 100000; one in eight is no multiple
// of 8.
int64_t RandomDim(std::mt19937_64& random) {
  const int bits = static_cast<int>(random() % 14) + 3;
  const auto value = static_cast<int64_t>(random() % (uint64_t{1} << bits) + (uint64_t{1} << bits));
  return random() % 8 == 0 ? value : RoundUp(value, kDimGranule);
}

FfnProblem RandomProblem(std::mt19937_64& random) {
  // One of 1, 2, ... count, or of 0, 1, ...
  const auto from_one = [&](uint64_t count) { return static_cast<int32_t>(random() % count) + 1; };
  const auto from_zero = [&](uint64_t count) { return static_cast<int32_t>(random() % count); };
  FfnProblem problem = {.hidden = DimK(RandomDim(random)),
                        .intermediate = DimN(RandomDim(random)),
                        .dtype = static_cast<DType>(from_one(2)),
                        .activation = static_cast<Activation>(from_one(5)),
                        .form = static_cast<FfnForm>(from_one(2)),
                        .residual_mode = static_cast<ResidualMode>(from_zero(4)),
                        .norm = static_cast<Norm>(from_zero(4)),
                        .rounding = static_cast<Rounding>(from_zero(2)),
                        .up_bias = from_zero(2) != 0,
                        .down_bias = from_zero(2) != 0};
  if (NeedsNorm(problem.residual_mode) && problem.norm == Norm::kNone) problem.norm = Norm::kRms;
  return problem;
}

TEST(RandomProblemTest, EndsInALegalPlanOrASentence) {
  std::mt19937_64 random(20261130);
  std::vector<DeviceSpec> devices;
  for (std::string_view name : DeviceProfileNames()) {
    devices.push_back(FindDeviceProfile(name).value());
  }
  int num_planned = 0;
  for (int i = 0; i < kNumProblems; ++i) {
    const FfnProblem problem = RandomProblem(random);
    const DeviceSpec& device = devices[random() % devices.size()];
    const int tile = kTokenTiles[random() % kTokenTiles.size()];
    const absl::StatusOr<SearchReport> report = Search(problem, tile, device);
    if (!report.ok()) {
      EXPECT_TRUE(IsDeclined(report.status())) << problem.Name() << ": " << report.status();
      EXPECT_NE(report.status().message().find(": "), std::string_view::npos) << report.status();
      continue;
    }
    ++num_planned;
    const FusionPlan& plan = report->best.plan;
    EXPECT_TRUE(CheckLegal(plan, device).ok()) << plan.ToJson();
    EXPECT_EQ(FusionPlan::FromJson(plan.ToJson()).value(), plan);
    if (problem.weight_bytes() < (int64_t{256} << 20)) {
      EXPECT_TRUE(CheckCoverage(plan).ok()) << CheckCoverage(plan) << "\n" << plan.ToJson();
    }
  }
  EXPECT_GT(num_planned, kNumProblems / 4);
}

}  // namespace
}  // namespace fusebox
