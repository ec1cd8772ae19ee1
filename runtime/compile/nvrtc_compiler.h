// NvrtcCompiler turns a KernelSource into a cubin: headers from memory, flags from the source,
// never PTX. Invariant: no file, path or toolkit header takes part, so that equal sources give
// equal kernels on every machine. Thread-safe: compiles on several threads run in parallel.
#ifndef FUSEBOX_RUNTIME_COMPILE_NVRTC_COMPILER_H_
#define FUSEBOX_RUNTIME_COMPILE_NVRTC_COMPILER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/compile/nvrtc_api.h"
#include "src/source/kernel_source.h"

namespace fusebox {

class NvrtcCompiler {
 public:
  explicit NvrtcCompiler(std::shared_ptr<const NvrtcApi> api) : api_(std::move(api)) {}

  // A failure for which IsCompileFailure holds carries the head of the log; ResourceExhausted when
  // NVRTC ran out of memory. NVRTC's own on-disk cache is passed by: Fusebox has its own, and the
  // time reported is a cold one.
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const;

  const NvrtcApi& api() const { return *api_; }

 private:
  std::shared_ptr<const NvrtcApi> api_;
};

// True for the Status of a kernel that NVRTC refused.
bool IsCompileFailure(const absl::Status& status);
// The whole log of such a failure; empty for others.
std::string CompileFailureLog(const absl::Status& status);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_COMPILE_NVRTC_COMPILER_H_
