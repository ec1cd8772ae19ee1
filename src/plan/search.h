// Search picks the plan of an op: every candidate is judged by the rules, every legal one by the
// cost model; among the plans that the model cannot tell from the cheapest the preferred one wins
// (preference.h), ties by candidate order. Invariant: a pure function of (problem,
// token tile, device, options); the plan it returns is legal.
#ifndef FUSEBOX_SRC_PLAN_SEARCH_H_
#define FUSEBOX_SRC_PLAN_SEARCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/device/device_spec.h"
#include "src/plan/cost_model.h"
#include "src/plan/fusion_plan.h"
#include "src/plan/unfused_cost.h"

namespace fusebox {

struct SearchOptions {
  Boundary boundary = Boundary::kPdl;
  int max_runners_up = 8;  // legal plans after the best that the report keeps
  std::function<bool(const FusionPlan&)> admits;  // candidates to look at; empty: all
};

struct RankedPlan {
  FusionPlan plan;
  CostBreakdown cost;
};

struct RefusedCount {
  std::string rule;
  int64_t candidates = 0;
  std::string example;   // Summary() of the first that the rule refused
  std::string sentence;  // about that one
};

// Why the best is the best: it is predicted fastest; the model cannot tell it from the fastest and
// an order of preference decided (preference.h); or a person forced it (forced_plans.h).
enum class ChosenBy : int32_t { kCost = 1, kPreference, kForced };
std::string_view ToString(ChosenBy chosen_by);  // "cost", "preference among ties", "force"

struct SearchReport {
  RankedPlan best;
  ChosenBy chosen_by = ChosenBy::kCost;
  std::vector<RankedPlan> runners_up;  // cheapest first
  std::vector<RefusedCount> refused;   // in the order of the rules
  int64_t num_candidates = 0;
  int64_t num_legal = 0;
  UnfusedCost unfused;  // of the same tokens; whether fusion pays is for fusion_pays.h to say

  std::string ToJson() const;
};

// Declined with the rule that refused most candidates when none is legal.
absl::StatusOr<SearchReport> Search(const FfnProblem& problem, int token_tile,
                                    const DeviceSpec& device, const SearchOptions& options = {});

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_SEARCH_H_
