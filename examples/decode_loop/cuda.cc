#include "examples/decode_loop/cuda.h"

#include <dlfcn.h>

namespace example {

Cuda::~Cuda() {
  if (!has_context_) return;
  Synchronize();
  for (CUgraphExec exec : graph_execs_) (void)cuGraphExecDestroy_(exec);
  for (CUgraph graph : graphs_) (void)cuGraphDestroy_(graph);
  for (CUdeviceptr memory : device_memory_) (void)cuMemFree_(memory);
  for (void* memory : host_memory_) (void)cuMemFreeHost_(memory);
  if (stream_ != nullptr) (void)cuStreamDestroy_(stream_);
  CUcontext popped = nullptr;
  (void)cuCtxPopCurrent_(&popped);
  (void)cuDevicePrimaryCtxRelease_(device_);
}

bool Cuda::FindFunctions(void* library) {
#define EXAMPLE_TEXT(function) #function
#define EXAMPLE_CUDA_FUNCTION(function)                                                          \
  function##_ = reinterpret_cast<decltype(function##_)>(dlsym(library, EXAMPLE_TEXT(function))); \
  if (function##_ == nullptr) {                                                                  \
    failure_ = "libcuda.so.1 has no " EXAMPLE_TEXT(function) "; install a newer driver";         \
    return false;                                                                                \
  }
#include "examples/decode_loop/cuda_functions.h"
  return true;
}

bool Cuda::Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: others use it too
  if (library == nullptr) {
    failure_ = std::string("no NVIDIA driver: ") + dlerror();
    return false;
  }
  if (!FindFunctions(library)) return false;
  Check(cuInit_(0), "cuInit");
  if (ok()) Check(cuDeviceGet_(&device_, 0), "cuDeviceGet");
  CUcontext context = nullptr;
  if (ok()) Check(cuDevicePrimaryCtxRetain_(&context, device_), "cuDevicePrimaryCtxRetain");
  if (!ok()) return false;
  Check(cuCtxPushCurrent_(context), "cuCtxPushCurrent");
  if (!ok()) {
    (void)cuDevicePrimaryCtxRelease_(device_);
    return false;
  }
  has_context_ = true;
  Check(cuStreamCreate_(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return ok();
}

void Cuda::Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS || !ok()) return;
  const char* name = nullptr;
  (void)cuGetErrorName_(result, &name);
  failure_ = std::string(call) + " failed: " + (name == nullptr ? "unknown error" : name);
}

void* Cuda::AllocateDevice(size_t bytes) {
  CUdeviceptr memory = 0;
  if (ok()) Check(cuMemAlloc_(&memory, bytes), "cuMemAlloc");
  if (!ok()) return nullptr;
  device_memory_.push_back(memory);
  return reinterpret_cast<void*>(memory);
}

void* Cuda::AllocateHost(size_t bytes) {
  void* memory = nullptr;
  if (ok()) Check(cuMemAllocHost_(&memory, bytes), "cuMemAllocHost");
  if (!ok()) return nullptr;
  host_memory_.push_back(memory);
  return memory;
}

void Cuda::Upload(void* device, const void* host, size_t bytes) {
  if (!ok()) return;
  Check(cuMemcpyHtoDAsync_(reinterpret_cast<CUdeviceptr>(device), host, bytes, stream_),
        "cuMemcpyHtoDAsync");
}

void Cuda::Download(void* host, const void* device, size_t bytes) {
  if (!ok()) return;
  Check(cuMemcpyDtoHAsync_(host, reinterpret_cast<CUdeviceptr>(device), bytes, stream_),
        "cuMemcpyDtoHAsync");
}

void Cuda::Call(CUhostFn function, void* argument) {
  if (ok()) Check(cuLaunchHostFunc_(stream_, function, argument), "cuLaunchHostFunc");
}

void Cuda::Replay(CUgraphExec graph) {
  if (ok()) Check(cuGraphLaunch_(graph, stream_), "cuGraphLaunch");
}

// The strictest mode: what a server's capture forbids fails here too.
void Cuda::BeginCapture() {
  if (!ok()) return;
  Check(cuStreamBeginCapture_(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
}

CUgraphExec Cuda::EndCapture() {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  if (ok()) Check(cuStreamEndCapture_(stream_, &graph), "cuStreamEndCapture");
  if (graph != nullptr) graphs_.push_back(graph);
  if (ok()) Check(cuGraphInstantiateWithFlags_(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  if (exec != nullptr) graph_execs_.push_back(exec);
  return exec;
}

void Cuda::Synchronize() {
  if (stream_ != nullptr) Check(cuStreamSynchronize_(stream_), "cuStreamSynchronize");
}

}  // namespace example
