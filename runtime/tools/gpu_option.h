// The option --gpu: whose profile is planned for.
// Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_GPU_OPTION_H_
#define FUSEBOX_RUNTIME_TOOLS_GPU_OPTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/config/config.h"
#include "src/device/device_spec.h"

namespace CLI {
class App;
}

namespace fusebox {

void AddGpuOption(CLI::App& command, std::string& gpu);

// The profile named by --gpu, else by FUSEBOX_DEVICE_PROFILE, else that of the first GPU here.
// InvalidArgument, with the names there are, otherwise.
absl::StatusOr<DeviceSpec> ChooseGpu(const std::string& gpu, const Config& config);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_GPU_OPTION_H_
