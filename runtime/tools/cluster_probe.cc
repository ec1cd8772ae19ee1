#include "runtime/tools/cluster_probe.h"

#include "runtime/driver/cuda_status.h"
#include "runtime/driver/handles.h"
#include "runtime/launch/loaded_kernel.h"
#include "src/base/status.h"
#include "src/device/device_spec.h"

namespace fusebox {
namespace {

KernelSource ProbeSource() {
  return {
      .name = "cluster_probe",
      .entry = "fusebox_cluster_probe",
      .text = "extern \"C\" __global__ void __launch_bounds__(128, 1) fusebox_cluster_probe() {}\n",
      .architecture = "sm_90a",
      .flags = {"--gpu-architecture=sm_90a"},
      .launch = {.grid_ctas = 1,
                 .threads = 128,
                 .dynamic_smem_bytes = 200 * 1024}};  // of an SM's 228 KiB: one CTA an SM
}

}  // namespace

absl::StatusOr<std::vector<ClusterCount>> CountResidentClusters(
    std::shared_ptr<const DriverApi> api, const DeviceReport& device,
    const NvrtcCompiler& compiler) {
  const KernelSource source = ProbeSource();
  FUSEBOX_ASSIGN_OR_RETURN(const CompiledKernel compiled, compiler.Compile(source));
  FUSEBOX_ASSIGN_OR_RETURN(const auto context, PrimaryContext::Retain(api, device.device));
  FUSEBOX_ASSIGN_OR_RETURN(const auto kernel, LoadedKernel::Load(context, source, compiled));
  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scope, ScopedContext::Enter(*context));
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(*api,
                 api->FuncSetAttribute(kernel->function(),
                                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 "cuFuncSetAttribute"));
  std::vector<ClusterCount> counts;
  for (const int cluster_size : kClusterSizes) {
    LaunchShape shape = source.launch;
    shape.grid_ctas = shape.cluster_size = cluster_size;
    FUSEBOX_ASSIGN_OR_RETURN(const int clusters,
                             MaxActiveClusters(*api, kernel->function(), shape));
    counts.push_back({.cluster_size = cluster_size, .clusters = clusters});
  }
  return counts;
}

}  // namespace fusebox
