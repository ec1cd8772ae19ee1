// The cost model against plans that were run on an H200 (measured_plans.jsonl, whose first line
// says how): how far its times are off, how well it orders the plans of a problem, and its regret:
// the time of its choice among them over the best of them. Fits the profile's constants to the same
// plans and prints them: measured_plans_test --fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "src/plan/preference.h"
#include "tests/plan/profile_fit.h"
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

double BestMicros(const std::vector<Measurement>& plans) {
  double best = plans.front().measured_us;
  for (const Measurement& plan : plans) best = std::min(best, plan.measured_us);
  return best;
}

constexpr char kPlansFile[] = "tests/plan/measured_plans.jsonl";  // dsm gather, up to 32 tokens
constexpr char kTilesFile[] = "tests/plan/measured_tiles.jsonl";  // both dataflows, up to 128

Measurements ReadMeasurements(const DeviceSpec& device, const char* path = kPlansFile) {
  Measurements by_problem;
  std::ifstream file(path);
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

// What the constants are fitted to: dsm gather up to 32 tokens, beyond which it is hardly chosen,
// and grid gather at all tiles.
Measurements ReadAll(const DeviceSpec& device) {
  Measurements all = ReadMeasurements(device);
  for (const auto& [name, plans] : ReadMeasurements(device, kTilesFile)) {
    for (const Measurement& plan : plans) {
      if (plan.plan.gathers_over_grid()) all[name].push_back(plan);
    }
  }
  return all;
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
  ASSERT_EQ(errors.size(), 546u);
  std::printf("error: median %.3f, 90 %% below %.3f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.9));
  EXPECT_LT(Quantile(errors, 0.5), 0.05);
  EXPECT_LT(Quantile(errors, 0.9), 0.15);
}

// As Search chooses: of those that the model cannot tell from the cheapest the preferred one.
Measurement ChoiceAmong(std::vector<Measurement> plans, const DeviceSpec& device) {
  const auto predicted = [](const Measurement& a, const Measurement& b) {
    return a.predicted_us < b.predicted_us;
  };
  const double cheapest_us = std::min_element(plans.begin(), plans.end(), predicted)->predicted_us;
  std::erase_if(plans, [&](const Measurement& plan) {
    return plan.predicted_us > cheapest_us * (1 + device.model_resolution);
  });
  return *std::min_element(plans.begin(), plans.end(),
                           [&](const Measurement& a, const Measurement& b) {
                             return PreferenceOf(a.plan, device) < PreferenceOf(b.plan, device);
                           });
}

TEST(MeasuredPlansTest, TheChoiceIsNearTheBest) {
  const DeviceSpec device = H200();
  double all_regrets = 0;
  int num_problems = 0;
  for (auto& [name, plans] : ReadMeasurements(device)) {
    const double best_us = BestMicros(plans);
    std::vector<Measurement> legal;
    for (const Measurement& plan : plans) {
      if (FirstBrokenRule(plan.plan, device) == nullptr) legal.push_back(plan);
    }
    if (legal.empty()) continue;
    const Measurement choice = ChoiceAmong(legal, device);
    const double regret = choice.measured_us / best_us;
    std::printf(
        "%-40s %2zu plans, rank correlation %.2f, best %7.2f us, choice %7.2f, regret %.3f\n",
        name.c_str(), plans.size(), Spearman(plans), best_us, choice.measured_us, regret);
    EXPECT_LT(regret, 1.15) << name << ": " << choice.plan.ToJson();
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

struct FittedConstant {
  const char* name;
  double DeviceSpec::*value;
};
constexpr FittedConstant kFitted[] = {
    {"hbm_latency_ns", &DeviceSpec::hbm_latency_ns},
    {"queue_depth", &DeviceSpec::queue_depth},
    {"queue_cost", &DeviceSpec::queue_cost},
    {"activation_latency_ns", &DeviceSpec::activation_latency_ns},
    {"launch_us", &DeviceSpec::launch_us},
    {"held_slots", &DeviceSpec::held_slots},
    {"producer_box_ns", &DeviceSpec::producer_box_ns},
    {"wgmma_ns", &DeviceSpec::wgmma_ns},
    {"wgmma_ns_per_token", &DeviceSpec::wgmma_ns_per_token},
    {"k_exchange_ns", &DeviceSpec::k_exchange_ns},
    {"combine_unit_ns", &DeviceSpec::combine_unit_ns},
    {"combine_pass_ns", &DeviceSpec::combine_pass_ns},
    {"combine_patience_ns", &DeviceSpec::combine_patience_ns},
    {"combine_party_ns", &DeviceSpec::combine_party_ns},
    {"slot_ns", &DeviceSpec::slot_ns},
    {"grid_gather_us", &DeviceSpec::grid_gather_us},
    {"reduce_scatter_us", &DeviceSpec::reduce_scatter_us},
};

// Squares of the relative errors, but linear beyond 8 %, so that a few plans that the model does
// not understand decide nothing; good plans count most, for a search must tell them apart.
double Loss(const Measurements& by_problem, const DeviceSpec& device) {
  constexpr double kSoft = 0.08;
  double loss = 0;
  for (const auto& [name, plans] : by_problem) {
    const double best_us = BestMicros(plans);
    for (const Measurement& plan : plans) {
      const double slower = plan.measured_us / best_us;
      const double weight = slower < 1.25 ? 1.5 : slower < 2 ? 1.0 : 0.4;
      const double error =
          weight * std::log(EstimateCost(plan.plan, device).us() / plan.measured_us) / kSoft;
      loss += std::sqrt(1 + error * error) - 1;
    }
  }
  return loss;
}

DeviceSpec Fit(const DeviceSpec& start, const Measurements& by_problem) {
  return FitProfile(
      start, kFitted, 0.001,
      [](DeviceSpec& device, const FittedConstant& constant) -> double& {
        return device.*constant.value;
      },
      [&](const DeviceSpec& device) { return Loss(by_problem, device); });
}

TEST(MeasuredPlansTest, TheProfileHoldsTheFit) {
  const Measurements by_problem = ReadAll(H200());
  EXPECT_LT(Loss(by_problem, H200()), 1.01 * Loss(by_problem, Fit(H200(), by_problem)))
      << "run measured_plans_test --fit";
}

TEST(MeasuredTilesTest, TimesOfGridGatherAreNear) {
  std::vector<double> errors;
  for (const auto& [name, plans] : ReadMeasurements(H200(), kTilesFile)) {
    for (const Measurement& plan : plans) {
      if (plan.plan.gathers_over_grid()) errors.push_back(plan.Error());
    }
  }
  ASSERT_EQ(errors.size(), 625u);
  std::printf("grid gather: median error %.3f, 90 %% below %.3f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.9));
  EXPECT_LT(Quantile(errors, 0.5), 0.06);
  EXPECT_LT(Quantile(errors, 0.9), 0.16);
}

TEST(MeasuredTilesTest, TheChoiceBeyond32TokensIsNearTheBest) {
  const DeviceSpec device = H200();
  std::vector<double> regrets;
  for (auto& [name, plans] : ReadMeasurements(device, kTilesFile)) {
    if (plans.front().plan.token_tile <= 32) continue;
    const double best_us = BestMicros(plans);  // some break a rule that came of this measurement
    std::erase_if(plans, [&](const Measurement& plan) {
      return FirstBrokenRule(plan.plan, device) != nullptr;
    });
    const double regret = ChoiceAmong(plans, device).measured_us / best_us;
    std::printf("%-45s %2zu plans, best %7.2f us, regret %.3f\n", name.c_str(), plans.size(),
                best_us, regret);
    regrets.push_back(regret);
  }
  ASSERT_EQ(regrets.size(), 19u);
  EXPECT_LT(Quantile(regrets, 0.5), 1.04);
  EXPECT_LT(Quantile(regrets, 1.0), 1.25);
}

// Constants fitted without any plan of a problem's dims predict its plans nearly as well.
TEST(MeasuredPlansTest, ProblemsThatTheFitHasNotSeenArePredicted) {
  const Measurements fitted_to = ReadAll(H200());
  std::vector<double> errors;
  for (const auto& [name, plans] : ReadMeasurements(H200())) {
    Measurements others;
    for (const auto& [other, other_plans] : fitted_to) {
      if (other_plans[0].plan.problem.Name() != plans[0].plan.problem.Name()) {
        others[other] = other_plans;
      }
    }
    const DeviceSpec fitted = Fit(H200(), others);
    for (const Measurement& plan : plans) {
      errors.push_back(std::abs(EstimateCost(plan.plan, fitted).us() / plan.measured_us - 1));
    }
  }
  std::printf("unseen problems: median error %.3f, 90 %% below %.3f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.9));
  EXPECT_LT(Quantile(errors, 0.5), 0.06);
  EXPECT_LT(Quantile(errors, 0.9), 0.16);
}

void PrintFit() {
  const DeviceSpec profile = H200();
  const DeviceSpec fitted = Fit(profile, ReadAll(profile));
  for (const FittedConstant& constant : kFitted) {
    std::printf("%-22s %9.4g in the profile, %9.4g fitted\n", constant.name,
                profile.*constant.value, fitted.*constant.value);
  }
}

}  // namespace
}  // namespace fusebox

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "--fit") {
    fusebox::PrintFit();
    return 0;
  }
  return RUN_ALL_TESTS();
}
