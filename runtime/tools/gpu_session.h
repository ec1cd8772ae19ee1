// GpuSession is one GPU made ready for verify, bench and the GPU tests: the driver, the primary
// context current on the thread that opened it, a stream, and a kernel service for the kernels that
// are not an engine's. Invariant: the context is current from Open until the session dies, on that
// thread. Not thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_GPU_SESSION_H_
#define FUSEBOX_RUNTIME_TOOLS_GPU_SESSION_H_

#include <cuda.h>

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/config/config.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/driver/device_query.h"
#include "runtime/driver/handles.h"
#include "runtime/engine/counters.h"
#include "runtime/engine/kernel_service.h"
#include "runtime/engine/overrides.h"
#include "runtime/trace/event_log.h"

namespace fusebox {

class GpuSession {
 public:
  using DriverLoader = std::function<absl::StatusOr<std::shared_ptr<const DriverApi>>()>;

  // FailedPrecondition where there is no driver or no Hopper GPU of that ordinal; InvalidArgument
  // for a bad FUSEBOX_FORCE_PLAN or FUSEBOX_TEMPLATE_DIR.
  static absl::StatusOr<std::unique_ptr<GpuSession>> Open(
      const Config& config, int ordinal = 0, const DriverLoader& load_driver = LoadDriver);
  ~GpuSession();
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  const DriverApi& api() const { return *api_; }
  const std::shared_ptr<const DriverApi>& shared_api() const { return api_; }
  const std::shared_ptr<PrimaryContext>& context() const { return context_; }
  const DeviceReport& device() const { return device_; }
  CUstream stream() const { return stream_.get(); }

  KernelService& kernels() { return *kernels_; }
  const EngineCounters& counters() const { return counters_; }
  // What the configuration's compile mode allows.
  CompilePermission permission() const { return permission_; }
  // As an engine of this configuration has them.
  const PlanOverrides& overrides() const { return overrides_; }

  absl::Status Check(CUresult result, std::string_view call) const {
    return CudaStatus(*api_, result, call);
  }
  absl::Status Synchronize() const;
  absl::StatusOr<UniqueStream> MakeStream() const;

 private:
  GpuSession() = default;

  std::shared_ptr<const DriverApi> api_;
  std::shared_ptr<PrimaryContext> context_;
  DeviceReport device_;
  bool entered_ = false;
  UniqueStream stream_;
  std::unique_ptr<EventLog> log_;
  EngineCounters counters_;
  std::unique_ptr<KernelService> kernels_;
  PlanOverrides overrides_;
  CompilePermission permission_ = CompilePermission::kAllowed;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_GPU_SESSION_H_
