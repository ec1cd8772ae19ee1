// A libcuda.so.1 without a GPU, for programs that open it themselves: device memory is host memory,
// work on a stream is done at once or, under capture, kept and done at each replay. A launch of
// Fusebox computes the decode loop's block from its parameters, on the CPU: what is tested is the
// loop, not the kernel. One stream, one thread. The rest answers as tests/driver/fake_driver.h
// does. With HOST_CUDA_SPOIL in the environment, launches compute a wrong value.
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "examples/decode_loop/model.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

using Work = std::function<void()>;
using Graph = std::vector<Work>;

bool is_capturing = false;
Graph* captured = nullptr;

CUresult Enqueue(Work work) {
  if (is_capturing) {
    captured->push_back(std::move(work));
  } else {
    work();
  }
  return CUDA_SUCCESS;
}

void* Address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

CUresult MemAlloc(CUdeviceptr* memory, size_t bytes) {
  constexpr size_t kAlignment = 256;  // as cuMemAlloc's
  if (is_capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *memory = reinterpret_cast<CUdeviceptr>(
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  return *memory == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult MemFree(CUdeviceptr memory) {
  std::free(Address(memory));
  return CUDA_SUCCESS;
}
CUresult MemsetD32Async(CUdeviceptr memory, unsigned int word, size_t words, CUstream) {
  return Enqueue([=] {
    for (size_t i = 0; i < words; ++i) static_cast<unsigned int*>(Address(memory))[i] = word;
  });
}

CUresult StreamCreate(CUstream* stream, unsigned int) {
  *stream = reinterpret_cast<CUstream>(0x20);
  return CUDA_SUCCESS;
}
CUresult StreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult StreamSynchronize(CUstream) {
  return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult StreamBeginCapture(CUstream, CUstreamCaptureMode) {
  if (is_capturing) return CUDA_ERROR_ILLEGAL_STATE;
  is_capturing = true;
  captured = new Graph;
  return CUDA_SUCCESS;
}
CUresult StreamEndCapture(CUstream, CUgraph* graph) {
  if (!is_capturing) return CUDA_ERROR_ILLEGAL_STATE;
  is_capturing = false;
  *graph = reinterpret_cast<CUgraph>(captured);
  return CUDA_SUCCESS;
}
CUresult GraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return CUDA_SUCCESS;
}
CUresult GraphLaunch(CUgraphExec exec, CUstream) {
  for (const Work& work : *reinterpret_cast<Graph*>(exec)) work();
  return CUDA_SUCCESS;
}
CUresult GraphExecDestroy(CUgraphExec exec) {
  delete reinterpret_cast<Graph*>(exec);
  return CUDA_SUCCESS;
}
CUresult GraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}

// The matrix that a tensor map was made for.
std::vector<example::Bf16> ReadMatrix(const TensorMap& map) {
  const FakeTensorMap view = ReadFakeMap(map);
  const auto* const first = static_cast<const example::Bf16*>(view.address);
  return {first, first + view.rows * view.columns};
}

void RunFfn(const FfnParams& params) {
  example::Layer layer{.gate_up = ReadMatrix(params.gate), .down = ReadMatrix(params.down)};
  const std::vector<example::Bf16> up = ReadMatrix(params.up);
  layer.gate_up.insert(layer.gate_up.end(), up.begin(), up.end());
  const std::vector<example::Bf16> x = ReadMatrix(params.x);
  example::RunBlock(layer, static_cast<int32_t>(params.tokens), x.data(), params.y);
  if (std::getenv("HOST_CUDA_SPOIL") != nullptr) params.y[0] ^= 0x4000;  // 0 becomes 2
}

CUresult LaunchKernelEx(const CUlaunchConfig*, CUfunction, void** parameters, void**) {
  FfnParams params;
  std::memcpy(static_cast<void*>(&params), parameters[0], sizeof(params));
  return Enqueue([params] { RunFfn(params); });
}

CUresult MemHostAlloc(void** memory, size_t bytes, unsigned int) {
  *memory = std::malloc(bytes);
  return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult MemFreeHost(void* memory) {  // of cuMemAllocHost's memory too
  std::free(memory);
  return CUDA_SUCCESS;
}

std::shared_ptr<const DriverApi> MakeApi() {
  auto api = std::make_shared<DriverApi>(*FakeDriver::Instance().Api());
  api->MemAlloc = MemAlloc;
  api->MemFree = MemFree;
  api->MemHostAlloc = MemHostAlloc;
  api->MemFreeHost = MemFreeHost;
  api->MemsetD32Async = MemsetD32Async;
  api->StreamCreate = StreamCreate;
  api->StreamDestroy = StreamDestroy;
  api->StreamSynchronize = StreamSynchronize;
  api->StreamBeginCapture = StreamBeginCapture;
  api->StreamEndCapture = StreamEndCapture;
  api->GraphInstantiateWithFlags = GraphInstantiate;
  api->GraphLaunch = GraphLaunch;
  api->GraphExecDestroy = GraphExecDestroy;
  api->GraphDestroy = GraphDestroy;
  api->LaunchKernelEx = LaunchKernelEx;
  return api;
}

const DriverApi& Api() {
  static const std::shared_ptr<const DriverApi> api = MakeApi();
  return *api;
}

template <typename... Arguments>
CUresult NotThere(Arguments...) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

// The table's function, or one that says it is not there.
template <typename... Arguments>
auto FunctionOf(CUresult (*function)(Arguments...)) {
  return function == nullptr ? NotThere<Arguments...> : function;
}

}  // namespace
}  // namespace fusebox

#define HOST_CUDA_EXPORT __attribute__((visibility("default")))

extern "C" {

// Every function of the table, resolved when dlsym asks for it.
#define FUSEBOX_DRIVER_FUNCTION(member, symbol)        \
  static decltype(&symbol) resolve_##symbol() {        \
    return fusebox::FunctionOf(fusebox::Api().member); \
  }                                                    \
  HOST_CUDA_EXPORT __attribute__((ifunc("resolve_" #symbol))) decltype(symbol) symbol;
#include "runtime/driver/driver_functions.h"

#undef cuEventElapsedTime  // a macro for another version since CUDA 12.8
HOST_CUDA_EXPORT CUresult cuEventElapsedTime(float*, CUevent, CUevent);
HOST_CUDA_EXPORT CUresult cuEventElapsedTime(float*, CUevent, CUevent) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
HOST_CUDA_EXPORT CUresult cuMemAllocHost(void** memory, size_t bytes) {
  CUdeviceptr allocated = 0;
  const CUresult result = fusebox::MemAlloc(&allocated, bytes);
  *memory = fusebox::Address(allocated);
  return result;
}
HOST_CUDA_EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes,
                                            CUstream) {
  return fusebox::Enqueue([=] { std::memcpy(fusebox::Address(to), from, bytes); });
}
HOST_CUDA_EXPORT CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  return fusebox::Enqueue([=] { std::memcpy(to, fusebox::Address(from), bytes); });
}
HOST_CUDA_EXPORT CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* argument) {
  return fusebox::Enqueue([=] { function(argument); });
}

}  // extern "C"
