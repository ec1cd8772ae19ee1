// Preference orders plans that the cost model cannot tell apart, by what measurements showed to
// matter and the model leaves out. Pure function.
#ifndef FUSEBOX_SRC_PLAN_PREFERENCE_H_
#define FUSEBOX_SRC_PLAN_PREFERENCE_H_

#include <array>
#include <cstdint>

#include "src/device/device_spec.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// Smaller is preferred, first difference decides.
using Preference = std::array<int64_t, 11>;
Preference PreferenceOf(const FusionPlan& plan, const DeviceSpec& device);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_PREFERENCE_H_
