#include "src/plan/forced_plans.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/plan/legality.h"

namespace fusebox {

absl::Status ForcedPlans::Add(std::string_view text, std::string_view where) {
  const absl::StatusOr<FusionPlan> plan = FusionPlan::FromJson(text);
  if (!plan.ok()) {  // also dims that are declined: no op has them
    return absl::InvalidArgumentError(absl::StrCat(where, plan.status().message()));
  }
  if (!plans_.emplace(std::pair(plan->problem, plan->token_tile), *plan).second) {
    return absl::InvalidArgumentError(absl::StrCat(where, "plan: there is another plan for ",
                                                   plan->problem.Name(), " at token tile ",
                                                   plan->token_tile, "; leave one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ForcedPlans> ForcedPlans::Parse(std::string_view text) {
  ForcedPlans forced;
  if (nlohmann::json::accept(text)) {
    FUSEBOX_RETURN_IF_ERROR(forced.Add(text, ""));
    return forced;
  }
  int number = 0;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    FUSEBOX_RETURN_IF_ERROR(forced.Add(line, absl::StrCat("line ", number, ": ")));
  }
  if (forced.empty()) return absl::InvalidArgumentError("there is no plan in the text");
  return forced;
}

const FusionPlan* ForcedPlans::Find(const FfnProblem& problem, int token_tile) const {
  const auto found = plans_.find(std::pair(problem, token_tile));
  return found == plans_.end() ? nullptr : &found->second;
}

bool ForcedPlans::HasPlanFor(const FfnProblem& problem) const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [&](const auto& entry) { return entry.first.first == problem; });
}

std::string ForcedPlans::FirstName() const {
  if (plans_.empty()) return "";
  const auto& [problem, token_tile] = plans_.begin()->first;
  return absl::StrCat(problem.Name(), "_t", token_tile);
}

absl::StatusOr<SearchReport> SearchForced(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device, const ForcedPlans& forced,
                                          const SearchOptions& options) {
  const FusionPlan* const plan = forced.Find(problem, token_tile);
  if (plan == nullptr) return Search(problem, token_tile, device, options);
  if (const absl::Status legal = CheckLegal(*plan, device); !legal.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the forced plan ", plan->Summary(), " of ", problem.Name(),
                     " is not legal on ", device.name, ": ", legal.message(),
                     "; change the plan, or take it out so that one is searched"));
  }
  absl::StatusOr<SearchReport> searched = Search(problem, token_tile, device, options);
  // A plan that no candidate leads to may be legal where the search finds none.
  if (!searched.ok() && !IsDeclined(searched.status())) return searched.status();
  SearchReport report;
  if (searched.ok()) {
    report = *std::move(searched);
    const auto is_cheaper = [](const RankedPlan& a, const RankedPlan& b) {
      return a.cost.us() < b.cost.us();
    };
    report.runners_up.insert(std::upper_bound(report.runners_up.begin(), report.runners_up.end(),
                                              report.best, is_cheaper),
                             report.best);
  }
  std::erase_if(report.runners_up, [&](const RankedPlan& ranked) { return ranked.plan == *plan; });
  const auto max_runners_up = static_cast<size_t>(std::max(options.max_runners_up, 0));
  if (report.runners_up.size() > max_runners_up) report.runners_up.resize(max_runners_up);
  report.best = {.plan = *plan, .cost = EstimateCost(*plan, device, options.boundary)};
  report.chosen_by = ChosenBy::kForced;
  report.unfused = EstimateUnfused(problem, token_tile, device);
  return report;
}

}  // namespace fusebox
