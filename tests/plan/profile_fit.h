// Fits constants of a device profile to measurements, and quantiles to judge a fit by.
#ifndef FUSEBOX_TESTS_PLAN_PROFILE_FIT_H_
#define FUSEBOX_TESTS_PLAN_PROFILE_FIT_H_

#include <algorithm>
#include <vector>

#include "src/device/device_spec.h"

namespace fusebox {

inline double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// Pattern search: each constant a step up or down while that helps, then with half the step, down
// to `last_step`. `value_of(device, constant)` is the constant's place in the profile,
// `loss(device)` what is to be small.
template <typename Constants, typename ValueOf, typename Loss>
DeviceSpec FitProfile(DeviceSpec device, const Constants& constants, double last_step,
                      ValueOf value_of, Loss loss) {
  double best = loss(device);
  for (double step = 0.2; step > last_step;) {
    const double before = best;
    for (const auto& constant : constants) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        DeviceSpec changed = device;
        value_of(changed, constant) *= factor;
        const double changed_loss = loss(changed);
        if (changed_loss < best) {
          best = changed_loss;
          device = changed;
        }
      }
    }
    if (before - best < 1e-4 * before) step /= 2;
  }
  return device;
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_PLAN_PROFILE_FIT_H_
