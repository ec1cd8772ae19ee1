// NVRTC for tests: to a cubin as the library does, and to PTX text, in which a test can look for an
// instruction. A machine without NVRTC fails these tests: they carry the label nvrtc.
#ifndef FUSEBOX_TESTS_KERNELS_KERNEL_COMPILER_H_
#define FUSEBOX_TESTS_KERNELS_KERNEL_COMPILER_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "src/source/kernel_source.h"

namespace fusebox {

const NvrtcCompiler& TestCompiler();  // found as the environment says; dies with the reason if not

// The PTX that NVRTC makes of the source on its way to the cubin.
absl::StatusOr<std::string> CompileToPtx(const KernelSource& source);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_KERNEL_COMPILER_H_
