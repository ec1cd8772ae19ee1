// The profiles that ship inside the library, by name.
// Invariant: every embedded profile parses and is named as its file is (tested). Thread-safe.
#ifndef FUSEBOX_SRC_DEVICE_DEVICE_PROFILES_H_
#define FUSEBOX_SRC_DEVICE_DEVICE_PROFILES_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/device/device_spec.h"

namespace fusebox {

std::vector<std::string_view> DeviceProfileNames();  // sorted

// InvalidArgument with the known names for one that is not there.
absl::StatusOr<DeviceSpec> FindDeviceProfile(std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_DEVICE_DEVICE_PROFILES_H_
