#include "src/plan/search.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/candidates.h"
#include "src/plan/legality.h"
#include "src/plan/preference.h"

namespace fusebox {
namespace {

// Costs are compared in whole nanoseconds: below that the model says nothing, and order decides.
int64_t Nanoseconds(const CostBreakdown& cost) { return std::llround(cost.us() * 1e3); }

// Keeps the cheapest legal plans seen so far, cheapest first, earlier before later among equals.
class Ranking {
 public:
  explicit Ranking(size_t capacity) : capacity_(capacity) {}

  void Offer(const FusionPlan& plan, const CostBreakdown& cost) {
    const int64_t ns = Nanoseconds(cost);
    if (ranked_.size() == capacity_ && ns >= ranked_.back().first) return;
    const auto after =
        std::upper_bound(ranked_.begin(), ranked_.end(), ns,
                         [](int64_t value, const auto& entry) { return value < entry.first; });
    ranked_.insert(after, {ns, RankedPlan{.plan = plan, .cost = cost}});
    if (ranked_.size() > capacity_) ranked_.pop_back();
  }

  std::vector<RankedPlan> Take() {
    std::vector<RankedPlan> plans;
    for (auto& entry : ranked_) plans.push_back(std::move(entry.second));
    return plans;
  }

 private:
  size_t capacity_;
  std::vector<std::pair<int64_t, RankedPlan>> ranked_;
};

// Keeps the plans whose cost is within the model's resolution of the cheapest seen.
class NearTies {
 public:
  explicit NearTies(const DeviceSpec& device)
      : device_(device), resolution_(device.model_resolution) {}

  void Offer(const FusionPlan& plan, const CostBreakdown& cost) {
    if (!ties_.empty() && cost.us() > cheapest_us_ * (1 + resolution_)) return;
    if (ties_.empty() || cost.us() < cheapest_us_) {
      cheapest_us_ = cost.us();
      std::erase_if(ties_, [&](const RankedPlan& tie) {
        return tie.cost.us() > cheapest_us_ * (1 + resolution_);
      });
    }
    ties_.push_back({plan, cost});
  }

  // The first in candidate order among the equally preferred.
  RankedPlan Preferred() const {
    return *std::min_element(ties_.begin(), ties_.end(),
                             [&](const RankedPlan& a, const RankedPlan& b) {
                               return PreferenceOf(a.plan, device_) < PreferenceOf(b.plan, device_);
                             });
  }

 private:
  const DeviceSpec& device_;
  double resolution_;
  double cheapest_us_ = 0;
  std::vector<RankedPlan> ties_;
};

// Counts refusals by rule; writes a sentence only for the first of each.
class Refusals {
 public:
  explicit Refusals(const DeviceSpec& device) : device_(device), counts_(LegalityRules().size()) {}

  void Add(const LegalityRule& rule, const FusionPlan& plan) {
    RefusedCount& count = counts_[&rule - LegalityRules().data()];
    if (count.candidates++ > 0) return;
    count.rule = std::string(rule.name);
    count.example = plan.Summary();
    count.sentence = Explain(rule, plan, device_);
  }

  std::vector<RefusedCount> Take() {
    std::vector<RefusedCount> seen;
    for (RefusedCount& count : counts_) {
      if (count.candidates > 0) seen.push_back(std::move(count));
    }
    return seen;
  }

 private:
  const DeviceSpec& device_;
  std::vector<RefusedCount> counts_;
};

absl::Status NothingLegal(const FfnProblem& problem, int token_tile, const DeviceSpec& device,
                          const std::vector<RefusedCount>& refused) {
  const std::string asked =
      absl::StrCat(problem.Name(), " at token tile ", token_tile, " on ", device.name);
  if (refused.empty()) {
    return Declined("co_resident",
                    absl::StrCat("no partition of ", asked,
                                 " was tried: by its profile the GPU holds no cluster that suits "
                                 "it; name a profile that fits, or run your own path"));
  }
  const RefusedCount& most =
      *std::max_element(refused.begin(), refused.end(),
                        [](const auto& a, const auto& b) { return a.candidates < b.candidates; });
  return Declined(most.rule,
                  absl::StrCat("no plan for ", asked, "; for ", most.example, ": ", most.sentence));
}

nlohmann::ordered_json RankedToJson(const RankedPlan& ranked) {
  return {{"summary", ranked.plan.Summary()},
          {"plan", nlohmann::ordered_json::parse(ranked.plan.ToJson(), nullptr, false)},
          {"cost", nlohmann::ordered_json::parse(ranked.cost.ToJson(), nullptr, false)}};
}

}  // namespace

absl::StatusOr<SearchReport> Search(const FfnProblem& problem, int token_tile,
                                    const DeviceSpec& device, const SearchOptions& options) {
  FUSEBOX_RETURN_IF_ERROR(FfnProblem::Create(problem).status());
  SearchReport report;
  const auto max_runners_up = static_cast<size_t>(std::max(options.max_runners_up, 0));
  Ranking ranking(max_runners_up + 1);
  NearTies ties(device);
  Refusals refusals(device);
  ForEachCandidate(problem, token_tile, device, [&](const FusionPlan& plan) {
    if (options.admits != nullptr && !options.admits(plan)) return;
    ++report.num_candidates;
    if (const LegalityRule* broken = FirstBrokenRule(plan, device); broken != nullptr) {
      refusals.Add(*broken, plan);
      return;
    }
    ++report.num_legal;
    const CostBreakdown cost = EstimateCost(plan, device, options.boundary);
    ranking.Offer(plan, cost);
    ties.Offer(plan, cost);
  });
  report.refused = refusals.Take();
  if (report.num_legal == 0) return NothingLegal(problem, token_tile, device, report.refused);
  report.runners_up = ranking.Take();
  report.best = ties.Preferred();
  const bool is_passed_by =
      std::any_of(report.runners_up.begin(), report.runners_up.end(),
                  [&](const auto& ranked) { return ranked.cost.us() < report.best.cost.us(); });
  report.chosen_by = is_passed_by ? ChosenBy::kPreference : ChosenBy::kCost;
  std::erase_if(report.runners_up,
                [&](const RankedPlan& ranked) { return ranked.plan == report.best.plan; });
  if (report.runners_up.size() > max_runners_up) report.runners_up.resize(max_runners_up);
  report.unfused = EstimateUnfused(problem, token_tile, device);
  return report;
}

std::string_view ToString(ChosenBy chosen_by) {
  switch (chosen_by) {
    case ChosenBy::kCost:
      return "cost";
    case ChosenBy::kPreference:
      return "preference among ties";
    case ChosenBy::kForced:
      return "force";
  }
  return "unknown";
}

std::string SearchReport::ToJson() const {
  nlohmann::ordered_json json = {
      {"candidates", num_candidates},
      {"legal", num_legal},
      {"chosen_by", ToString(chosen_by)},
      {"best", RankedToJson(best)},
      {"unfused", nlohmann::ordered_json::parse(unfused.ToJson(), nullptr, false)},
      {"runners_up", nlohmann::ordered_json::array()},
      {"refused", nlohmann::ordered_json::array()}};
  for (const RankedPlan& ranked : runners_up) json["runners_up"].push_back(RankedToJson(ranked));
  for (const RefusedCount& count : refused) {
    json["refused"].push_back({{"rule", count.rule},
                               {"candidates", count.candidates},
                               {"example", count.example},
                               {"sentence", count.sentence}});
  }
  return json.dump();
}

}  // namespace fusebox
