// The unfused path's model against what cuBLAS took on an H200 (measured_unfused.jsonl, whose first
// line says how), and the rule fusion_pays against a results file in which both paths were timed in
// one run. Fits the profile's constants to the same times and prints them:
// measured_unfused_test --fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "src/plan/candidates.h"
#include "src/plan/fusion_pays.h"
#include "src/plan/unfused_cost.h"
#include "tests/plan/profile_fit.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kUnfusedFile[] = "tests/plan/measured_unfused.jsonl";
constexpr char kResultsFile[] = "bench/results/2026-12-01-h200-ffn.json";

struct Measurement {
  FfnProblem problem;
  int64_t tokens = 0;
  double measured_us = 0;

  double PredictedMicros(const DeviceSpec& device) const {
    return EstimateUnfused(problem, tokens, device).us();
  }
  double Error(const DeviceSpec& device) const {
    return std::abs(PredictedMicros(device) / measured_us - 1);
  }
};

std::vector<Measurement> ReadMeasurements() {
  std::vector<Measurement> measurements;
  std::ifstream file(kUnfusedFile);
  std::string line;
  std::getline(file, line);  // how they were measured
  while (std::getline(file, line)) {
    const Json row = Json::parse(line);
    measurements.push_back(
        {.problem = {.hidden = DimK(row["hidden"].get<int64_t>()),
                     .intermediate = DimN(row["intermediate"].get<int64_t>()),
                     .form = row["form"] == "gated" ? FfnForm::kGated : FfnForm::kPlain},
         .tokens = row["tokens"].get<int64_t>(),
         .measured_us = row["us"].get<double>()});
  }
  return measurements;
}

bool HasDimsOf(const FfnProblem& problem, const FfnProblem& other) {
  return problem.hidden == other.hidden && problem.intermediate == other.intermediate &&
         problem.form == other.form;
}

struct FittedConstant {
  const char* name;
  double UnfusedRates::*value;
};
constexpr FittedConstant kFitted[] = {
    {"gemm_us", &UnfusedRates::gemm_us},
    {"gemm_gb_per_s", &UnfusedRates::gemm_gb_per_s},
    {"gemm_tflops", &UnfusedRates::gemm_tflops},
    {"elementwise_us", &UnfusedRates::elementwise_us},
    {"elementwise_gb_per_s", &UnfusedRates::elementwise_gb_per_s},
};

// Squares of the relative errors, but linear beyond 4 %, the spread between days of one shape, so
// that the few tiny blocks that the model does not understand decide nothing.
double Loss(const std::vector<Measurement>& measurements, const DeviceSpec& device) {
  constexpr double kSoft = 0.04;
  double loss = 0;
  for (const Measurement& row : measurements) {
    const double error = std::log(row.PredictedMicros(device) / row.measured_us) / kSoft;
    loss += std::sqrt(1 + error * error) - 1;
  }
  return loss;
}

DeviceSpec Fit(const DeviceSpec& start, const std::vector<Measurement>& measurements) {
  return FitProfile(
      start, kFitted, 0.0005,
      [](DeviceSpec& device, const FittedConstant& constant) -> double& {
        return device.unfused.*constant.value;
      },
      [&](const DeviceSpec& device) { return Loss(measurements, device); });
}

// The fit reaches a median of 1.7 % and a p95 of 5.7 %, to which the limits add a sixth.
TEST(MeasuredUnfusedTest, TimesAreNear) {
  const std::vector<Measurement> measurements = ReadMeasurements();
  ASSERT_EQ(measurements.size(), 110u);
  std::vector<double> errors;
  for (const Measurement& row : measurements) errors.push_back(row.Error(H200()));
  std::printf("unfused: error median %.4f, p95 %.4f, most %.4f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.95), Quantile(errors, 1));
  EXPECT_LT(Quantile(errors, 0.5), 0.020);
  EXPECT_LT(Quantile(errors, 0.95), 0.066);
}

TEST(MeasuredUnfusedTest, TheProfileHoldsTheFit) {
  const std::vector<Measurement> measurements = ReadMeasurements();
  EXPECT_LT(Loss(measurements, H200()), 1.01 * Loss(measurements, Fit(H200(), measurements)))
      << "run measured_unfused_test --fit";
}

// The profile's constants fitted anew without any row of the block's dims.
DeviceSpec FitWithout(const FfnProblem& block) {
  std::vector<Measurement> others = ReadMeasurements();
  std::erase_if(others, [&](const Measurement& row) { return HasDimsOf(row.problem, block); });
  return Fit(H200(), others);
}

// Such constants reach a median of 2.0 % and a p95 of 9.8 %, to which the limits add a sixth. The
// tail is mostly blocks of less than 10 MB of weights, GPT-2's sizes, which are off by up to 21 %;
// there the unfused path is predicted to take 1.25 times as long as the fused one, and more.
TEST(MeasuredUnfusedTest, BlocksThatTheFitHasNotSeenArePredicted) {
  std::vector<double> errors;
  for (const Measurement& row : ReadMeasurements()) {
    errors.push_back(row.Error(FitWithout(row.problem)));
  }
  ASSERT_EQ(errors.size(), 110u);
  std::printf("unseen blocks: error median %.4f, p95 %.4f\n", Quantile(errors, 0.5),
              Quantile(errors, 0.95));
  EXPECT_LT(Quantile(errors, 0.5), 0.0233);
  EXPECT_LT(Quantile(errors, 0.95), 0.1141);
}

// A row of a results file: both paths timed in one run, and the plan that ran.
struct TimedRow {
  std::string name;
  FusionPlan plan;
  double fused_us = 0;
  double unfused_us = 0;
};

FfnProblem ProblemOfRow(const Json& row) {
  const auto op = row["op"].get<std::string>();
  long long hidden = 0, intermediate = 0;
  std::sscanf(op.substr(op.find("_h")).c_str(), "_h%lld_i%lld", &hidden, &intermediate);
  FfnProblem problem = {.hidden = DimK(hidden),
                        .intermediate = DimN(intermediate),
                        .form = op.starts_with("ffn_gated") ? FfnForm::kGated : FfnForm::kPlain};
  for (const Activation activation : {Activation::kSilu, Activation::kRelu, Activation::kGeluErf}) {
    problem.activation = activation;
    if (problem.Name() == op) break;
  }
  EXPECT_EQ(problem.Name(), op);
  return problem;
}

// The candidates' codes; a results file names a plan by its code. Those of before activations were
// multicast ran without.
std::map<std::string, FusionPlan> PlansByCode(const FfnProblem& problem, int token_tile) {
  std::map<std::string, FusionPlan> plans;
  ForEachCandidate(problem, token_tile, H200(), [&](FusionPlan plan) {
    plans.emplace(plan.Summary(), plan);
    plan.activation_multicast = false;
    plans.emplace(plan.Summary(), plan);
  });
  return plans;
}

std::vector<TimedRow> ReadTimedRows() {
  std::map<std::pair<std::string, int>, std::map<std::string, FusionPlan>> codes;
  std::vector<TimedRow> rows;
  std::ifstream file(kResultsFile);
  const Json results = Json::parse(file);
  for (const Json& row : results["rows"]) {
    const FfnProblem problem = ProblemOfRow(row);
    const int tile = TokenTileFor(row["tokens"].get<int64_t>()).value();
    auto& plans = codes[{problem.Name(), tile}];
    if (plans.empty()) plans = PlansByCode(problem, tile);
    const auto plan = plans.find(row["plan"].get<std::string>());
    if (plan == plans.end()) {
      ADD_FAILURE() << row["plan"] << " is no candidate any more; measure again";
      continue;
    }
    rows.push_back({.name = problem.Name() + " M " + row["tokens"].dump() + " behind " +
                            row["neighbours"].get<std::string>(),
                    .plan = plan->second,
                    .fused_us = row["us"].get<double>(),
                    .unfused_us = row["baselines"]["cuBLAS"].get<double>()});
  }
  return rows;
}

struct Confusion {
  int served_faster = 0, served_slower = 0, declined_faster = 0, declined_slower = 0;
  double lost_us = 0;  // beyond the better path of each row
  std::string wrong;   // a line for each row decided wrongly
};

using DeviceOf = std::function<DeviceSpec(const FfnProblem&)>;

DeviceSpec TheProfile(const FfnProblem&) { return H200(); }

// `margin`: by which share the fused path may be predicted slower and is served all the same.
Confusion Decide(const std::vector<TimedRow>& rows, const DeviceOf& device_of, double margin = 0) {
  Confusion confusion;
  for (const TimedRow& row : rows) {
    const DeviceSpec device = device_of(row.plan.problem);
    SearchReport report = {.best = {.plan = row.plan, .cost = EstimateCost(row.plan, device)}};
    report.unfused = EstimateUnfused(row.plan.problem, row.plan.token_tile, device);
    report.unfused.down_us += margin * report.unfused.us();
    const bool declined = !CheckFusionPays(report, device).ok();
    const bool slower = row.fused_us > row.unfused_us;
    ++(declined ? (slower ? confusion.declined_slower : confusion.declined_faster)
                : (slower ? confusion.served_slower : confusion.served_faster));
    if (declined == slower) continue;
    confusion.lost_us += std::abs(row.fused_us - row.unfused_us);
    confusion.wrong +=
        absl::StrFormat("%s %s: measured %.1f us fused, %.1f unfused; predicted %.1f, %.1f\n",
                        declined ? "declined but faster" : "served but slower", row.name,
                        row.fused_us, row.unfused_us, report.best.cost.us(), report.unfused.us());
  }
  std::printf("          faster  slower\nserved   %7d %7d\ndeclined %7d %7d\nlost %.1f us\n",
              confusion.served_faster, confusion.served_slower, confusion.declined_faster,
              confusion.declined_slower, confusion.lost_us);
  return confusion;
}

// As it is, 6 served rows are slower and no declined one faster; a block has two rows at a token
// count (neighbours), so that one more block at one count fails. The six are of dsm gather beyond
// 32 tokens, which the fused model takes for faster than it is, and which is hardly chosen any
// more.
void ExpectFewAreWrong(const Confusion& confusion) {
  EXPECT_LE(confusion.served_slower, 6) << confusion.wrong;
  EXPECT_EQ(confusion.declined_faster, 0) << confusion.wrong;
}

// Of 132 rows 102 were faster fused. Half of what the profile was fitted to are this run's cuBLAS
// times; the next test leaves them out.
TEST(MeasuredUnfusedTest, FusionIsDeclinedWhereItWasMeasuredToLose) {
  const std::vector<TimedRow> rows = ReadTimedRows();
  ASSERT_EQ(rows.size(), 132u);
  const Confusion confusion = Decide(rows, TheProfile);
  std::printf("%s", confusion.wrong.c_str());
  double all_served_us = 0, none_served_us = 0;  // lost without the rule, and without fusion
  for (const TimedRow& row : rows) {
    all_served_us += std::max(row.fused_us - row.unfused_us, 0.0);
    none_served_us += std::max(row.unfused_us - row.fused_us, 0.0);
  }
  std::printf("all served: %.1f us lost; none: %.1f\n", all_served_us, none_served_us);
  ExpectFewAreWrong(confusion);
  EXPECT_LT(confusion.lost_us, 0.075 * all_served_us);  // as it is 6.4 %
}

TEST(MeasuredUnfusedTest, BlocksThatTheFitHasNotSeenAreDecidedAsWell) {
  const std::vector<TimedRow> rows = ReadTimedRows();
  ASSERT_EQ(rows.size(), 132u);
  ExpectFewAreWrong(Decide(rows, FitWithout));
}

TEST(MeasuredUnfusedTest, FusionUpTo32TokensIsServed) {
  std::vector<TimedRow> rows = ReadTimedRows();
  std::erase_if(rows, [](const TimedRow& row) { return row.plan.token_tile > 32; });
  ASSERT_EQ(rows.size(), 88u);
  const Confusion confusion = Decide(rows, TheProfile);
  EXPECT_EQ(confusion.served_faster, 88) << confusion.wrong;
}

TEST(MeasuredUnfusedTest, AMarginEitherWayLosesTime) {
  const std::vector<TimedRow> rows = ReadTimedRows();
  ASSERT_EQ(rows.size(), 132u);
  const double lost_us = Decide(rows, TheProfile).lost_us;
  for (const double margin : {-0.1, 0.1}) {  // 5 % either way these rows do not tell apart
    EXPECT_GT(Decide(rows, TheProfile, margin).lost_us, lost_us) << margin;
  }
}

void PrintFit() {
  const DeviceSpec profile = H200();
  const DeviceSpec fitted = Fit(profile, ReadMeasurements());
  for (const FittedConstant& constant : kFitted) {
    std::printf("%-22s %9.4g in the profile, %9.4g fitted\n", constant.name,
                profile.unfused.*constant.value, fitted.unfused.*constant.value);
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
