#include "runtime/launch/kernel_launch.h"

#include "runtime/launch/loaded_kernel.h"

namespace fusebox {

LaunchConfig::LaunchConfig(const LaunchShape& launch, ProgrammaticOverlap overlap,
                           CUstream stream) {
  unsigned int count = 0;
  CUlaunchAttribute& cluster = attributes_[count++];
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = static_cast<unsigned int>(launch.cluster_size);
  cluster.value.clusterDim.y = 1;
  cluster.value.clusterDim.z = 1;
  // Only where clusters wait for one another (edges/grid_gather.cuh): it refuses a grid that would
  // deadlock, and keeps others from taking its place, at the price of the overlap that PDL is for
  // (bench/README.md).
  if (launch.cooperation == Cooperation::kGrid) {
    CUlaunchAttribute& cooperative = attributes_[count++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  if (overlap == ProgrammaticOverlap::kAllowed) {
    CUlaunchAttribute& programmatic = attributes_[count++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  config_.gridDimX = static_cast<unsigned int>(launch.grid_ctas);
  config_.gridDimY = 1;
  config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned int>(launch.threads);
  config_.blockDimY = 1;
  config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned int>(launch.dynamic_smem_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_;
  config_.numAttrs = count;
}

CUresult LaunchKernel(const DriverApi& api, const LoadedKernel& kernel, const FfnParams& params,
                      ProgrammaticOverlap overlap, CUstream stream) {
  const LaunchConfig config(kernel.launch(), overlap, stream);
  // The driver copies the parameters before it returns and does not write to them.
  void* parameters[] = {const_cast<FfnParams*>(&params)};
  return api.LaunchKernelEx(config.get(), kernel.function(), parameters, nullptr);
}

}  // namespace fusebox
