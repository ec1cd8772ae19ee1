// A KernelSource that compiles in a few milliseconds, for tests that do not care what the kernel
// does.
#ifndef FUSEBOX_TESTS_COMPILE_SMALL_KERNEL_H_
#define FUSEBOX_TESTS_COMPILE_SMALL_KERNEL_H_

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/compile/compiled_kernel.h"
#include "src/source/kernel_source.h"

namespace fusebox {

// Sources with different `variant` have different digests.
inline KernelSource SmallKernel(int variant = 0) {
  return KernelSource{
      .name = absl::StrCat("small_", variant),
      .entry = "small",
      .text =
          absl::StrCat("#include \"tests/twice.cuh\"\n",
                       "extern \"C\" __global__ void __launch_bounds__(128, 1) small(int* out) ",
                       "{ out[threadIdx.x] = Twice(threadIdx.x) + ", variant, "; }\n"),
      .plan_json = absl::StrCat("{\"variant\":", variant, "}"),
      .architecture = "sm_90a",
      .flags = {"--gpu-architecture=sm_90a", "--std=c++20", "--device-as-default-execution-space"},
      .headers = TemplateSet::FromFiles(
          {{"tests/twice.cuh", "inline int Twice(int x) { return 2 * x; }\n"}}),
      .launch = {.grid_ctas = 16, .cluster_size = 8, .threads = 384, .dynamic_smem_bytes = 200000},
      .workspace_bytes = 4096};
}

// What NVRTC might have made of it, without NVRTC.
inline CompiledKernel MadeUpKernel(int variant = 0) {
  return CompiledKernel{
      .cubin = absl::StrCat("made-up cubin ", variant, " ", std::string(3000, 'x')),
      .log = "",
      .resources = {.registers = 168},
      .nvrtc_version = "13.0",
      .nvrtc_major = 13};
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_COMPILE_SMALL_KERNEL_H_
