#include "runtime/tools/gpu_option.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/driver/device_query.h"
#include "runtime/driver/driver_api.h"
#include "runtime/engine/planner.h"
#include "src/base/status.h"
#include "src/device/device_profiles.h"

namespace fusebox {
namespace {

absl::StatusOr<std::string_view> ProfileOfThisMachine() {
  FUSEBOX_ASSIGN_OR_RETURN(const std::shared_ptr<const DriverApi> api, LoadDriver());
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceReport device, QueryDevice(*api, /*ordinal=*/0));
  FUSEBOX_RETURN_IF_ERROR(CheckServed(device));
  return ProfileNameFor(device.name);
}

}  // namespace

void AddGpuOption(CLI::App& command, std::string& gpu) {
  command
      .add_option("--gpu", gpu,
                  absl::StrCat("profile to plan for, the GPU need not be here: ",
                               absl::StrJoin(DeviceProfileNames(), ", "),
                               "; when left out FUSEBOX_DEVICE_PROFILE, else the GPU that is here"))
      ->type_name("NAME");
}

absl::StatusOr<DeviceSpec> ChooseGpu(const std::string& gpu, const Config& config) {
  const std::string& name = gpu.empty() ? config.device_profile : gpu;
  if (!name.empty()) return FindDeviceProfile(name);
  const absl::StatusOr<std::string_view> here = ProfileOfThisMachine();
  if (here.ok()) return FindDeviceProfile(*here);
  return absl::InvalidArgumentError(
      absl::StrCat("no GPU is named and none is here (", here.status().message(),
                   "); pass --gpu with one of ", absl::StrJoin(DeviceProfileNames(), ", ")));
}

}  // namespace fusebox
