#include "src/plan/fusion_pays.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

// As the search compares costs: below a nanosecond the models say nothing.
int64_t Nanoseconds(double us) { return std::llround(us * 1e3); }

}  // namespace

absl::Status CheckFusionPays(const SearchReport& report, const DeviceSpec& device) {
  const double fused_us = report.best.cost.us(), unfused_us = report.unfused.us();
  if (report.chosen_by == ChosenBy::kForced || Nanoseconds(fused_us) <= Nanoseconds(unfused_us)) {
    return absl::OkStatus();
  }
  const FusionPlan& plan = report.best.plan;
  return Declined(
      "fusion_pays",
      absl::StrFormat("%s at token tile %d is predicted to take %.2f us fused and %.2f us as "
                      "separate kernels on %s; run your own path at these token counts, or set "
                      "FUSEBOX_DECLINE_SLOWER=0 to be served all the same",
                      plan.problem.Name(), plan.token_tile, fused_us, unfused_us, device.name));
}

}  // namespace fusebox
