// FusionPays is the last word on a choice: a plan that is predicted to take longer than the
// operations one by one is declined by the rule fusion_pays. A forced plan is what a person wants,
// and stands. Of a ladder the first plan decides, for the rate that the unfused path would reach on
// a GPU that holds less than its profile says is not known. Invariant: a pure function of shape and
// profile, so that all ranks of a server and a build machine decline alike. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_FUSION_PAYS_H_
#define FUSEBOX_SRC_PLAN_FUSION_PAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "src/device/device_spec.h"
#include "src/plan/search.h"

namespace fusebox {

// What happens to a token tile where fusion is predicted to lose.
enum class SlowerPlans : int32_t { kDecline = 1, kServe };

// OK, or Declined with both predictions. They are compared as they are: on the rows of
// which both paths were measured (measured_unfused_test) a margin of 10 % either way lost time.
absl::Status CheckFusionPays(const SearchReport& report, const DeviceSpec& device);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FUSION_PAYS_H_
