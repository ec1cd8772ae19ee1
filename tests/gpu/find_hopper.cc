#include "tests/gpu/find_hopper.h"

#include "runtime/driver/device_query.h"
#include "src/base/status.h"

namespace fusebox {

absl::Status FindHopper() {
  FUSEBOX_ASSIGN_OR_RETURN(const auto api, LoadDriver());
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceReport device, QueryDevice(*api, /*ordinal=*/0));
  return CheckServed(device);
}

}  // namespace fusebox
