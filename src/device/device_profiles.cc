#include "src/device/device_profiles.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/device/embedded_profiles.h"

namespace fusebox {
namespace {

// "src/device/profiles/h200-sxm.json" -> "h200-sxm"
std::string_view ProfileName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return absl::StripSuffix(path, ".json");
}

}  // namespace

std::vector<std::string_view> DeviceProfileNames() {
  std::vector<std::string_view> names;
  for (const EmbeddedProfile& profile : EmbeddedProfiles()) {
    names.push_back(ProfileName(profile.path));
  }
  return names;
}

absl::StatusOr<DeviceSpec> FindDeviceProfile(std::string_view name) {
  for (const EmbeddedProfile& profile : EmbeddedProfiles()) {
    if (ProfileName(profile.path) == name) return DeviceSpec::FromJson(profile.text);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device profile: \"", name,
                   "\" is not known; known: ", absl::StrJoin(DeviceProfileNames(), ", ")));
}

}  // namespace fusebox
