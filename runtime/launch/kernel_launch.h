// LaunchKernel enqueues a loaded kernel with the attributes that its plan needs: cluster,
// cooperative and programmatic. Hot path: no allocation, lock, environment, formatting or
// synchronisation; capturable. Thread-safe.
#ifndef FUSEBOX_RUNTIME_LAUNCH_KERNEL_LAUNCH_H_
#define FUSEBOX_RUNTIME_LAUNCH_KERNEL_LAUNCH_H_

#include <cuda.h>

#include "kernels_templates/abi/kernel_params.h"
#include "runtime/driver/driver_api.h"
#include "src/source/kernel_source.h"

namespace fusebox {

class LoadedKernel;

// Whether the kernel may start, and stream weights, before its predecessor on the stream has
// finished (PDL).
enum class ProgrammaticOverlap { kForbidden, kAllowed };

// A CUlaunchConfig with its attributes. Not copyable: the config points into the object.
class LaunchConfig {
 public:
  LaunchConfig(const LaunchShape& launch, ProgrammaticOverlap overlap, CUstream stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;
  const CUlaunchConfig* get() const { return &config_; }

 private:
  CUlaunchAttribute attributes_[3];
  CUlaunchConfig config_ = {};
};

// REQUIRES: the kernel's context is current on this thread.
CUresult LaunchKernel(const DriverApi& api, const LoadedKernel& kernel, const FfnParams& params,
                      ProgrammaticOverlap overlap, CUstream stream);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_KERNEL_LAUNCH_H_
