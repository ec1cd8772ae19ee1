#include "runtime/driver/device_query.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/driver/cuda_status.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

template <typename Number>
absl::Status ReadAttribute(const DriverApi& api, CUdevice device, CUdevice_attribute attribute,
                           Number* target) {
  int value = 0;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api, api.DeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute"));
  *target = static_cast<Number>(value);
  return absl::OkStatus();
}

absl::Status ReadAttributes(const DriverApi& api, DeviceReport* report) {
  const CUdevice device = report->device;
  FUSEBOX_RETURN_IF_ERROR(ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                        &report->compute_major));
  FUSEBOX_RETURN_IF_ERROR(ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                        &report->compute_minor));
  FUSEBOX_RETURN_IF_ERROR(
      ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &report->num_sms));
  FUSEBOX_RETURN_IF_ERROR(ReadAttribute(api, device,
                                        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                        &report->smem_per_cta_bytes));
  FUSEBOX_RETURN_IF_ERROR(ReadAttribute(api, device,
                                        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                                        &report->smem_per_sm_bytes));
  FUSEBOX_RETURN_IF_ERROR(ReadAttribute(api, device,
                                        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
                                        &report->registers_per_sm));
  FUSEBOX_RETURN_IF_ERROR(
      ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &report->l2_bytes));
  FUSEBOX_RETURN_IF_ERROR(
      ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &report->sm_clock_khz));
  return ReadAttribute(api, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &report->cluster_launch);
}

}  // namespace

absl::StatusOr<int> CountDevices(const DriverApi& api) {
  int count = 0;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(api, api.DeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<DeviceReport> QueryDevice(const DriverApi& api, int ordinal) {
  FUSEBOX_ASSIGN_OR_RETURN(const int count, CountDevices(api));
  if (count == 0) {
    return absl::FailedPreconditionError(
        "device: the driver reports no GPU; without one Fusebox only plans and compiles, for a GPU "
        "profile that is named");
  }
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(absl::StrCat("device: ordinal ", ordinal,
                                                      " does not exist; the driver reports ", count,
                                                      " GPU(s), numbered from 0"));
  }
  DeviceReport report{.ordinal = ordinal};
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(api, api.DeviceGet(&report.device, ordinal), "cuDeviceGet"));
  char name[256] = {};
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api, api.DeviceGetName(name, sizeof(name) - 1, report.device), "cuDeviceGetName"));
  report.name = name;
  size_t memory_bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api, api.DeviceTotalMem(&memory_bytes, report.device), "cuDeviceTotalMem"));
  report.memory_bytes = static_cast<int64_t>(memory_bytes);
  FUSEBOX_RETURN_IF_ERROR(ReadAttributes(api, &report));
  return report;
}

absl::Status CheckServed(const DeviceReport& device) {
  const std::string what =
      absl::StrCat("architecture: GPU ", device.ordinal, " (", device.name,
                   ") has compute capability ", device.compute_major, ".", device.compute_minor);
  if (device.compute_major != 9 || device.compute_minor != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, "; Fusebox serves 9.0 (Hopper: H100, H200, GH200), so run your own path here"));
  }
  if (!device.cluster_launch) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " but does not offer cluster launches; run your own path here"));
  }
  return absl::OkStatus();
}

}  // namespace fusebox
