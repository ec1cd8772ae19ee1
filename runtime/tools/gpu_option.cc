#include "runtime/tools/gpu_option.h"

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/device/device_profiles.h"

namespace fusebox {

void AddGpuOption(CLI::App& command, std::string& gpu) {
  command
      .add_option("--gpu", gpu,
                  absl::StrCat("profile to plan for, the GPU need not be here: ",
                               absl::StrJoin(DeviceProfileNames(), ", "),
                               "; FUSEBOX_DEVICE_PROFILE when left out"))
      ->type_name("NAME");
}

absl::StatusOr<DeviceSpec> ChooseGpu(const std::string& gpu, const Config& config) {
  const std::string& name = gpu.empty() ? config.device_profile : gpu;
  if (!name.empty()) return FindDeviceProfile(name);
  return absl::InvalidArgumentError(absl::StrCat("no GPU is named; pass --gpu with one of ",
                                                 absl::StrJoin(DeviceProfileNames(), ", ")));
}

}  // namespace fusebox
