// DeviceReport is what the driver says about one GPU. It decides whether Fusebox serves the GPU and
// which profile fits. Needs no context. Thread-safe.
#ifndef FUSEBOX_RUNTIME_DRIVER_DEVICE_QUERY_H_
#define FUSEBOX_RUNTIME_DRIVER_DEVICE_QUERY_H_

#include <cuda.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

struct DeviceReport {
  CUdevice device = 0;
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  int compute_major = 0;
  int compute_minor = 0;
  int num_sms = 0;
  int64_t smem_per_cta_bytes = 0;  // opt-in limit of dynamic shared memory
  int64_t smem_per_sm_bytes = 0;
  int64_t registers_per_sm = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int sm_clock_khz = 0;
  bool cluster_launch = false;
};

// FailedPrecondition for an ordinal that does not exist, with the number of GPUs there are.
absl::StatusOr<DeviceReport> QueryDevice(const DriverApi& api, int ordinal);
absl::StatusOr<int> CountDevices(const DriverApi& api);

// FailedPrecondition "architecture: ..." unless the GPU is a Hopper (compute capability 9.0) with
// cluster launch.
absl::Status CheckServed(const DeviceReport& device);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_DRIVER_DEVICE_QUERY_H_
