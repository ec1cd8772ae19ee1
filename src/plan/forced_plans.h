// ForcedPlans are plans that a person put in the place of the search's choice, each for its own op
// and token tile. Invariant: at most one for an op and tile; each is well formed, whether a device
// allows it is for SearchForced to say. A value; no threads.
#ifndef FUSEBOX_SRC_PLAN_FORCED_PLANS_H_
#define FUSEBOX_SRC_PLAN_FORCED_PLANS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "src/plan/fusion_plan.h"
#include "src/plan/search.h"

namespace fusebox {

class ForcedPlans {
 public:
  ForcedPlans() = default;

  // A plan's JSON, over as many lines as it likes, or one plan a line. InvalidArgument with the
  // line, and for a second plan of an op and tile.
  static absl::StatusOr<ForcedPlans> Parse(std::string_view text);

  // nullptr where the search chooses.
  const FusionPlan* Find(const FfnProblem& problem, int token_tile) const;
  bool HasPlanFor(const FfnProblem& problem) const;  // at any tile
  bool empty() const { return plans_.empty(); }
  size_t size() const { return plans_.size(); }
  // "ffn_gated_silu_bf16_h4096_i11008_t8", of the first.
  std::string FirstName() const;

 private:
  absl::Status Add(std::string_view text, std::string_view where);

  std::map<std::pair<FfnProblem, int>, FusionPlan> plans_;
};

// What Search reports, with the forced plan as its best and the search's own choice among the
// runners-up; Search's report where no plan is forced. InvalidArgument, with the rule's sentence,
// for a forced plan that is not legal.
absl::StatusOr<SearchReport> SearchForced(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device, const ForcedPlans& forced,
                                          const SearchOptions& options = {});

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FORCED_PLANS_H_
