// LoadedKernel is a cubin in a GPU's primary context, checked to fit this very GPU and ready to be
// launched. Invariant: it does not spill, its attributes are set, and the clusters that its plan
// needs at once can be resident at once; nothing is loaded lazily at its first launch. Immutable;
// thread-safe. Keeps the context alive.
#ifndef FUSEBOX_RUNTIME_LAUNCH_LOADED_KERNEL_H_
#define FUSEBOX_RUNTIME_LAUNCH_LOADED_KERNEL_H_

#include <cuda.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/driver/handles.h"
#include "src/plan/ladder.h"
#include "src/source/kernel_source.h"

namespace fusebox {

class LoadedKernel {
 public:
  // Declined "co_resident: ..." for a plan that asks for more than this GPU holds at once (a
  // cooperative kernel asks for all of its clusters, whatever `residency` says); FailedPrecondition
  // "no_spill: ..."; DataLoss when the driver does not accept the cubin as one for this GPU.
  static absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(
      std::shared_ptr<PrimaryContext> context, const KernelSource& source,
      const CompiledKernel& kernel, Residency residency = Residency::kAllClusters);

  CUfunction function() const { return function_; }
  const LaunchShape& launch() const { return launch_; }
  int max_active_clusters() const { return max_active_clusters_; }

 private:
  LoadedKernel(std::shared_ptr<PrimaryContext> context, UniqueLibrary library, CUfunction function,
               const LaunchShape& launch, int max_active_clusters);

  std::shared_ptr<PrimaryContext> context_;  // outlives the library
  UniqueLibrary library_;
  CUfunction function_;
  LaunchShape launch_;
  int max_active_clusters_;
};

// Clusters of this shape that the GPU holds at once. REQUIRES: the function's context is current.
absl::StatusOr<int> MaxActiveClusters(const DriverApi& api, CUfunction function,
                                      const LaunchShape& launch);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_LOADED_KERNEL_H_
