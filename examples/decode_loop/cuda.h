// Cuda is what an engine has anyway: libcuda, a GPU's primary context, memory, one stream, graphs.
// libcuda is opened at run time, so that the program starts where there is no driver. The first
// call that fails is kept in failure(); calls after it do nothing. For one thread.
#ifndef FUSEBOX_EXAMPLES_DECODE_LOOP_CUDA_H_
#define FUSEBOX_EXAMPLES_DECODE_LOOP_CUDA_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

namespace example {

class Cuda {
 public:
  Cuda() = default;
  ~Cuda();
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  // Makes GPU 0's primary context current on this thread. False: failure() says what is missing.
  bool Open();
  bool ok() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }
  CUstream stream() const { return stream_; }

  // Freed with this object; null after a failure.
  void* AllocateDevice(size_t bytes);
  void* AllocateHost(size_t bytes);  // page-locked

  // All of these are enqueued on the stream.
  void Upload(void* device, const void* host, size_t bytes);
  void Download(void* host, const void* device, size_t bytes);
  void Call(CUhostFn function, void* argument);
  void Replay(CUgraphExec graph);

  // What is enqueued between the two becomes a graph, which lives as long as this object.
  void BeginCapture();
  CUgraphExec EndCapture();

  void Synchronize();

 private:
  // What the driver functions return; keeps the first failure.
  void Check(CUresult result, const char* call);
  bool FindFunctions(void* library);

#define EXAMPLE_CUDA_FUNCTION(function) decltype(&::function) function##_ = nullptr;
#include "examples/decode_loop/cuda_functions.h"

  std::string failure_;
  CUdevice device_ = 0;
  bool has_context_ = false;
  CUstream stream_ = nullptr;
  std::vector<CUdeviceptr> device_memory_;
  std::vector<void*> host_memory_;
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> graph_execs_;
};

}  // namespace example

#endif  // FUSEBOX_EXAMPLES_DECODE_LOOP_CUDA_H_
