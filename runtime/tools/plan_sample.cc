#include "runtime/tools/plan_sample.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "src/base/check.h"
#include "src/plan/candidates.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"

namespace fusebox {
namespace {

struct PredictedPlan {
  FusionPlan plan;
  double us;
};

// The band first, so that strata of likely plans come first where the sample is too small for all.
using Stratum = std::tuple<size_t, Scope, Collective, Combine, int>;

struct Stock {
  std::vector<PredictedPlan> plans;  // by predicted time, then in candidate order
  size_t num_taken = 0;
};

std::vector<PredictedPlan> LegalPlans(const FusionPlan& like, const DeviceSpec& device) {
  std::vector<PredictedPlan> legal;
  ForEachCandidate(like.problem, like.token_tile, device, [&](const FusionPlan& plan) {
    if (FirstBrokenRule(plan, device) != nullptr) return;
    legal.push_back({.plan = plan, .us = EstimateCost(plan, device).us()});
  });
  std::stable_sort(legal.begin(), legal.end(),
                   [](const auto& a, const auto& b) { return a.us < b.us; });
  return legal;
}

Stratum StratumOf(const PredictedPlan& plan, double least_us) {
  size_t band = 0;
  while (band < std::size(kBandEnds) && plan.us >= kBandEnds[band] * least_us) ++band;
  return {band, plan.plan.edge_scope, plan.plan.edge_collective, plan.plan.combine,
          plan.plan.cluster_size};
}

// Says how many each stratum gives: one after the other, in turn, while it has any left.
void Deal(std::map<Stratum, Stock>& strata, size_t num_plans) {
  while (num_plans > 0) {
    const size_t before = num_plans;
    for (auto& [stratum, stock] : strata) {
      if (num_plans == 0 || stock.num_taken == stock.plans.size()) continue;
      ++stock.num_taken;
      --num_plans;
    }
    if (num_plans == before) return;  // all are taken
  }
}

}  // namespace

std::vector<FusionPlan> SamplePlans(const FusionPlan& chosen, const DeviceSpec& device,
                                    size_t max_plans) {
  FUSEBOX_CHECK(max_plans >= 1, "a sample holds the chosen plan");
  const std::vector<PredictedPlan> legal = LegalPlans(chosen, device);
  std::map<Stratum, Stock> strata;
  for (const PredictedPlan& plan : legal) {
    if (plan.plan != chosen) strata[StratumOf(plan, legal.front().us)].plans.push_back(plan);
  }
  Deal(strata, max_plans - 1);
  std::vector<FusionPlan> sample = {chosen};
  for (const auto& [stratum, stock] : strata) {
    for (size_t i = 0; i < stock.num_taken; ++i) {  // evenly over the stratum, its fastest first
      sample.push_back(stock.plans[i * stock.plans.size() / stock.num_taken].plan);
    }
  }
  return sample;
}

}  // namespace fusebox
