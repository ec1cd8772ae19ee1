// CountResidentClusters asks the driver how many clusters of each size this very GPU holds at once:
// dies differ, and a MIG slice has fewer. Plans are made for the profile's numbers; these show
// whether the GPU keeps up with them. Retains the primary context for the time of the call.
// Thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_CLUSTER_PROBE_H_
#define FUSEBOX_RUNTIME_TOOLS_CLUSTER_PROBE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/driver/device_query.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

struct ClusterCount {
  int cluster_size = 1;
  int clusters = 0;
};

// One CTA an SM: each asks for more than half an SM's shared memory.
absl::StatusOr<std::vector<ClusterCount>> CountResidentClusters(
    std::shared_ptr<const DriverApi> api, const DeviceReport& device,
    const NvrtcCompiler& compiler);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_CLUSTER_PROBE_H_
