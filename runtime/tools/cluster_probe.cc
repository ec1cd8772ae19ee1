#include "runtime/tools/cluster_probe.h"

#include <cuda.h>

#include "runtime/driver/cuda_status.h"
#include "runtime/driver/handles.h"
#include "src/base/status.h"
#include "src/device/device_spec.h"

namespace fusebox {
namespace {

constexpr unsigned kProbeSmemBytes = 200 * 1024;  // more than half of the 228 KiB of an SM
constexpr unsigned kProbeThreads = 128;

KernelSource ProbeSource() {
  return {
      .name = "cluster_probe",
      .entry = "fusebox_cluster_probe",
      .text = "extern \"C\" __global__ void __launch_bounds__(128, 1) fusebox_cluster_probe() {}\n",
      .architecture = "sm_90a",
      .flags = {"--gpu-architecture=sm_90a"}};
}

absl::StatusOr<int> CountClusters(const DriverApi& api, CUfunction function, int cluster_size) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = static_cast<unsigned>(cluster_size);
  attribute.value.clusterDim.y = 1;
  attribute.value.clusterDim.z = 1;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(cluster_size);
  config.gridDimY = 1;
  config.gridDimZ = 1;
  config.blockDimX = kProbeThreads;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.sharedMemBytes = kProbeSmemBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(api,
                                     api.OccupancyMaxActiveClusters(&clusters, function, &config),
                                     "cuOccupancyMaxActiveClusters"));
  return clusters;
}

}  // namespace

absl::StatusOr<std::vector<ClusterCount>> CountResidentClusters(
    std::shared_ptr<const DriverApi> api, const DeviceReport& device,
    const NvrtcCompiler& compiler) {
  const KernelSource source = ProbeSource();
  FUSEBOX_ASSIGN_OR_RETURN(const CompiledKernel kernel, compiler.Compile(source));
  FUSEBOX_ASSIGN_OR_RETURN(const auto context, PrimaryContext::Retain(api, device.device));
  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scope, ScopedContext::Enter(*context));
  CUlibrary raw_library = nullptr;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(*api,
                                     api->LibraryLoadData(&raw_library, kernel.cubin.data(),
                                                          nullptr, nullptr, 0, nullptr, nullptr, 0),
                                     "cuLibraryLoadData"));
  const UniqueLibrary library(api, raw_library);
  CUkernel entry = nullptr;
  CUfunction function = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(*api, api->LibraryGetKernel(&entry, library.get(), source.entry.c_str()),
                 "cuLibraryGetKernel"));
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(*api, api->KernelGetFunction(&function, entry), "cuKernelGetFunction"));
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(*api,
                 api->FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(kProbeSmemBytes)),
                 "cuFuncSetAttribute"));
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(
      *api, api->FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      "cuFuncSetAttribute"));
  std::vector<ClusterCount> counts;
  for (const int cluster_size : kClusterSizes) {
    FUSEBOX_ASSIGN_OR_RETURN(const int clusters, CountClusters(*api, function, cluster_size));
    counts.push_back({.cluster_size = cluster_size, .clusters = clusters});
  }
  return counts;
}

}  // namespace fusebox
