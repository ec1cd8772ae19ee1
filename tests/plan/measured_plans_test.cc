// The cost model against plans that were run on an H200 (measured_plans.jsonl, whose first line
// says how): how far its times are off, how well it orders the plans of a problem, and its regret:
// the time of its choice among them over the best of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

struct Measurement {
  FusionPlan plan;
  double measured_us = 0;
  double predicted_us = 0;
  double Error() const { return std::abs(predicted_us / measured_us - 1); }
};

using Measurements = std::map<std::string, std::vector<Measurement>>;  // by problem and token tile

Measurements ReadMeasurements(const DeviceSpec& device) {
  Measurements by_problem;
  std::ifstream file("tests/plan/measured_plans.jsonl");
  std::string line;
  std::getline(file, line);  // how they were measured
  while (std::getline(file, line)) {
    const auto row = nlohmann::ordered_json::parse(line);
    const FusionPlan plan = FusionPlan::FromJson(row["plan"].dump()).value();
    by_problem[absl::StrCat(plan.problem.Name(), " t", plan.token_tile)].push_back(
        {.plan = plan,
         .measured_us = row["us"].get<double>(),
         .predicted_us = EstimateCost(plan, device).us()});
  }
  return by_problem;
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

double Spearman(const std::vector<Measurement>& plans) {
  std::vector<double> measured, predicted;
  for (const Measurement& plan : plans) {
    measured.push_back(plan.measured_us);
    predicted.push_back(plan.predicted_us);
  }
  const std::vector<double> a = Ranks(measured), b = Ranks(predicted);
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  const auto n = static_cast<double>(a.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(MeasuredPlansTest, TimesAreNear) {
  std::vector<double> errors;
  for (const auto& [name, plans] : ReadMeasurements(H200())) {
    for (const Measurement& plan : plans) errors.push_back(plan.Error());
  }
  ASSERT_EQ(errors.size(), 382u);
  std::printf("error: median %.3f, 90 %% below %.3f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.9));
  EXPECT_LT(Quantile(errors, 0.5), 0.05);
  EXPECT_LT(Quantile(errors, 0.9), 0.15);
}

TEST(MeasuredPlansTest, TheChoiceIsNearTheBest) {
  const DeviceSpec device = H200();
  double all_regrets = 0;
  int num_problems = 0;
  for (auto& [name, plans] : ReadMeasurements(device)) {
    const auto measured = [](const Measurement& a, const Measurement& b) {
      return a.measured_us < b.measured_us;
    };
    const double best_us = std::min_element(plans.begin(), plans.end(), measured)->measured_us;
    std::vector<Measurement> legal;
    for (const Measurement& plan : plans) {
      if (FirstBrokenRule(plan.plan, device) == nullptr) legal.push_back(plan);
    }
    if (legal.empty()) continue;
    const auto predicted = [](const Measurement& a, const Measurement& b) {
      return a.predicted_us < b.predicted_us;
    };
    const Measurement& choice = *std::min_element(legal.begin(), legal.end(), predicted);
    const double regret = choice.measured_us / best_us;
    std::printf(
        "%-40s %2zu plans, rank correlation %.2f, best %7.2f us, choice %7.2f, regret %.3f\n",
        name.c_str(), plans.size(), Spearman(plans), best_us, choice.measured_us, regret);
    EXPECT_LT(regret, 1.08) << name << ": " << choice.plan.ToJson();
    if (plans.size() >= 20) {
      EXPECT_GT(Spearman(plans), 0.75) << name;
    }
    all_regrets += regret;
    ++num_problems;
  }
  EXPECT_GE(num_problems, 20);
  std::printf("mean regret %.4f\n", all_regrets / num_problems);
  EXPECT_LT(all_regrets / num_problems, 1.02);
}

}  // namespace
}  // namespace fusebox
