// RAII for the driver's objects: each knows the table of functions it was made with and dies
// quietly. Invariant: a handle that is not empty is released exactly once; failures of a release
// are ignored, as the driver may already be gone at exit. Move-only; not thread-safe by themselves.
#ifndef FUSEBOX_RUNTIME_DRIVER_HANDLES_H_
#define FUSEBOX_RUNTIME_DRIVER_HANDLES_H_

#include <cuda.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

template <typename Handle, typename Release>
class UniqueHandle {
 public:
  UniqueHandle() = default;
  UniqueHandle(std::shared_ptr<const DriverApi> api, Handle handle)
      : api_(std::move(api)), handle_(handle) {}
  ~UniqueHandle() { Reset(); }
  UniqueHandle(UniqueHandle&& other) noexcept
      : api_(std::move(other.api_)), handle_(std::exchange(other.handle_, Handle{})) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      Reset();
      api_ = std::move(other.api_);
      handle_ = std::exchange(other.handle_, Handle{});
    }
    return *this;
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }
  void Reset() {
    if (handle_ != Handle{}) Release{}(*api_, std::exchange(handle_, Handle{}));
    api_.reset();
  }

 private:
  std::shared_ptr<const DriverApi> api_;
  Handle handle_{};
};

// In relaxed capture mode: an engine's end must not break another thread's stream capture.
struct LibraryUnloader {
  void operator()(const DriverApi& api, CUlibrary library) const;
};
struct MemoryFreer {
  void operator()(const DriverApi& api, CUdeviceptr pointer) const { (void)api.MemFree(pointer); }
};
struct HostMemoryFreer {
  void operator()(const DriverApi& api, void* pointer) const { (void)api.MemFreeHost(pointer); }
};
struct StreamDestroyer {
  void operator()(const DriverApi& api, CUstream stream) const { (void)api.StreamDestroy(stream); }
};
struct EventDestroyer {
  void operator()(const DriverApi& api, CUevent event) const { (void)api.EventDestroy(event); }
};
struct GraphDestroyer {
  void operator()(const DriverApi& api, CUgraph graph) const { (void)api.GraphDestroy(graph); }
};
struct GraphExecDestroyer {
  void operator()(const DriverApi& api, CUgraphExec graph) const {
    (void)api.GraphExecDestroy(graph);
  }
};

using UniqueLibrary = UniqueHandle<CUlibrary, LibraryUnloader>;
using UniqueMemory = UniqueHandle<CUdeviceptr, MemoryFreer>;
using UniqueHostMemory = UniqueHandle<void*, HostMemoryFreer>;
using UniqueStream = UniqueHandle<CUstream, StreamDestroyer>;
using UniqueEvent = UniqueHandle<CUevent, EventDestroyer>;
using UniqueGraph = UniqueHandle<CUgraph, GraphDestroyer>;
using UniqueGraphExec = UniqueHandle<CUgraphExec, GraphExecDestroyer>;

// A device's primary context, retained. The context that Fusebox shares with PyTorch and the CUDA
// runtime.
class PrimaryContext {
 public:
  static absl::StatusOr<std::shared_ptr<PrimaryContext>> Retain(
      std::shared_ptr<const DriverApi> api, CUdevice device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext get() const { return context_; }
  CUdevice device() const { return device_; }
  const DriverApi& api() const { return *api_; }
  const std::shared_ptr<const DriverApi>& shared_api() const { return api_; }

 private:
  PrimaryContext(std::shared_ptr<const DriverApi> api, CUdevice device, CUcontext context);
  std::shared_ptr<const DriverApi> api_;
  CUdevice device_;
  CUcontext context_;
};

// Makes the context current on this thread, in relaxed capture mode (so that loading a kernel
// neither fails under nor breaks another thread's stream capture), until it goes out of scope; then
// both are as before. Never used at launch.
class ScopedContext {
 public:
  static absl::StatusOr<ScopedContext> Enter(const PrimaryContext& context);
  ~ScopedContext();
  ScopedContext(ScopedContext&& other) noexcept;
  ScopedContext& operator=(ScopedContext&&) = delete;

 private:
  ScopedContext(const DriverApi* api, CUstreamCaptureMode previous_mode);
  const DriverApi* api_;
  CUstreamCaptureMode previous_mode_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_DRIVER_HANDLES_H_
