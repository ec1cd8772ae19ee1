// CompiledKernel is what NVRTC made of a KernelSource: a cubin, and what its compiler said about
// it. A value; travels between compile, cache and launch.
#ifndef FUSEBOX_RUNTIME_COMPILE_COMPILED_KERNEL_H_
#define FUSEBOX_RUNTIME_COMPILE_COMPILED_KERNEL_H_

#include <cstdint>
#include <string>

namespace fusebox {

// As ptxas reports it (-v), for the entry and every function that was not inlined into it.
struct KernelResources {
  int registers = 0;        // a thread, before setmaxnreg
  int64_t stack_bytes = 0;  // local memory a thread
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t static_smem_bytes = 0;
  bool setmaxnreg_ignored = false;  // ptxas warning C7508: warp roles then keep equal registers

  bool Spills() const { return stack_bytes + spill_store_bytes + spill_load_bytes > 0; }
  bool operator==(const KernelResources&) const = default;
};

struct CompiledKernel {
  std::string cubin;
  std::string log;  // NVRTC's and ptxas's, without their timings
  KernelResources resources;
  std::string nvrtc_version;  // "13.0"
  int nvrtc_major = 0;        // a driver loads cubins of its own CUDA major version and older
  double milliseconds = 0;    // in nvrtcCompileProgram
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_COMPILE_COMPILED_KERNEL_H_
