#include "runtime/launch/loaded_kernel.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/launch/kernel_launch.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr char kGetKernel[] = "cuLibraryGetKernel";

// The driver's ways of saying that the bytes are no cubin for this GPU.
bool RefusesImage(CUresult result) {
  return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         result == CUDA_ERROR_INVALID_SOURCE;
}

absl::Status LoadStatus(const DriverApi& api, CUresult result, std::string_view call,
                        const CompiledKernel& kernel) {
  const absl::Status status = CudaStatus(api, result, call);
  const bool lacks_kernel = call == kGetKernel && result == CUDA_ERROR_NOT_FOUND;
  if (!RefusesImage(result) && !lacks_kernel) return status;
  return absl::DataLossError(absl::StrCat(
      "the driver (CUDA ", CudaVersionString(api.version), ") does not accept a cubin of NVRTC ",
      kernel.nvrtc_version, ": ", status.message(),
      "; a driver runs kernels of its own CUDA major version and older ones"));
}

absl::Status SetAttributes(const DriverApi& api, CUfunction function, const LaunchShape& launch) {
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api,
                 api.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(launch.dynamic_smem_bytes)),
                 "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)"));
  // The largest carve-out, so that the next kernel's CTAs find room beside ours (PDL).
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api,
                 api.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                      CU_SHAREDMEM_CARVEOUT_MAX_SHARED),
                 "cuFuncSetAttribute(PREFERRED_SHARED_MEMORY_CARVEOUT)"));
  if (launch.cluster_size <= kPortableClusterSize) return absl::OkStatus();
  return CudaStatus(
      api, api.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)");
}

absl::Status CheckNoSpill(const DriverApi& api, CUfunction function, const KernelSource& source,
                          const CompiledKernel& kernel) {
  int local_bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(
      api, api.FuncGetAttribute(&local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
      "cuFuncGetAttribute(LOCAL_SIZE_BYTES)"));
  if (local_bytes == 0 && !kernel.resources.Spills()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "no_spill: ", source.name, " uses ", local_bytes,
      " bytes of local memory a thread (spills: ", kernel.resources.spill_store_bytes, " stored, ",
      kernel.resources.spill_load_bytes, " loaded) as NVRTC ", kernel.nvrtc_version,
      " compiled it; such a kernel is slower than planned, so run your own path, or use another "
      "NVRTC"));
}

absl::Status CheckCoResident(int max_active_clusters, const KernelSource& source,
                             Residency residency) {
  const LaunchShape& launch = source.launch;
  // Whatever was asked for: in waves, a grid that waits for itself would never end.
  const bool in_waves =
      residency == Residency::kOneCluster && launch.cooperation == Cooperation::kCluster;
  const int num_needed = in_waves ? 1 : launch.grid_ctas / launch.cluster_size;
  if (max_active_clusters >= num_needed) return absl::OkStatus();
  return Declined(
      "co_resident",
      absl::StrCat(source.name, " needs ", num_needed, " clusters of ", launch.cluster_size,
                   " CTAs at once with ", launch.dynamic_smem_bytes,
                   " bytes of shared memory each; this GPU holds ", max_active_clusters,
                   " (a MIG slice, or a die with fewer SMs than the profile's); run your own "
                   "path, or name a profile that fits in FUSEBOX_DEVICE_PROFILE"));
}

}  // namespace

absl::StatusOr<int> MaxActiveClusters(const DriverApi& api, CUfunction function,
                                      const LaunchShape& launch) {
  LaunchConfig config(launch, ProgrammaticOverlap::kForbidden, nullptr);
  int count = 0;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(api,
                                     api.OccupancyMaxActiveClusters(&count, function, config.get()),
                                     "cuOccupancyMaxActiveClusters"));
  return count;
}

absl::StatusOr<std::shared_ptr<const LoadedKernel>> LoadedKernel::Load(
    std::shared_ptr<PrimaryContext> context, const KernelSource& source,
    const CompiledKernel& kernel, Residency residency) {
  const DriverApi& api = context->api();
  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scoped, ScopedContext::Enter(*context));

  CUlibrary raw_library = nullptr;
  FUSEBOX_RETURN_IF_ERROR(LoadStatus(api,
                                     api.LibraryLoadData(&raw_library, kernel.cubin.data(), nullptr,
                                                         nullptr, 0, nullptr, nullptr, 0),
                                     "cuLibraryLoadData", kernel));
  UniqueLibrary library(context->shared_api(), raw_library);
  CUkernel handle = nullptr;
  FUSEBOX_RETURN_IF_ERROR(LoadStatus(
      api, api.LibraryGetKernel(&handle, raw_library, source.entry.c_str()), kGetKernel, kernel));
  // Loads the code into the context now; a lazy load at the first launch would break a stream
  // capture.
  CUfunction function = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      LoadStatus(api, api.KernelGetFunction(&function, handle), "cuKernelGetFunction", kernel));
  FUSEBOX_RETURN_IF_ERROR(CheckNoSpill(api, function, source, kernel));
  FUSEBOX_RETURN_IF_ERROR(SetAttributes(api, function, source.launch));
  FUSEBOX_ASSIGN_OR_RETURN(const int max_active_clusters,
                           MaxActiveClusters(api, function, source.launch));
  FUSEBOX_RETURN_IF_ERROR(CheckCoResident(max_active_clusters, source, residency));
  return std::shared_ptr<const LoadedKernel>(new LoadedKernel(
      std::move(context), std::move(library), function, source.launch, max_active_clusters));
}

LoadedKernel::LoadedKernel(std::shared_ptr<PrimaryContext> context, UniqueLibrary library,
                           CUfunction function, const LaunchShape& launch, int max_active_clusters)
    : context_(std::move(context)),
      library_(std::move(library)),
      function_(function),
      launch_(launch),
      max_active_clusters_(max_active_clusters) {}

}  // namespace fusebox
