// ToolModule is a module of the tools' own kernels (the oracle, operands, the read stream), taken
// from the caches or compiled, and loaded. Immutable. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_TOOL_MODULE_H_
#define FUSEBOX_RUNTIME_TOOLS_TOOL_MODULE_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/driver/handles.h"
#include "runtime/tools/gpu_session.h"
#include "src/source/kernel_source.h"

namespace fusebox {

struct ToolGrid {
  int64_t x = 1;
  int64_t y = 1;
  int threads = 1;
  int dynamic_smem_bytes = 0;
};

class ToolModule {
 public:
  static absl::StatusOr<ToolModule> Load(GpuSession& session, const KernelSource& source);

  absl::StatusOr<CUfunction> Find(const char* entry) const;
  // Needed once before launches with more than 48 KiB.
  absl::Status AllowDynamicSmem(CUfunction function, int bytes) const;

  // `parameters` point at the arguments, in the kernel's order and of its types. Asynchronous.
  template <size_t kCount>
  absl::Status Launch(CUfunction function, const ToolGrid& grid, void* const (&parameters)[kCount],
                      CUstream stream) const {
    return LaunchRaw(function, grid, const_cast<void**>(parameters), stream);
  }

 private:
  ToolModule(const GpuSession* session, UniqueLibrary library)
      : session_(session), library_(std::move(library)) {}
  absl::Status LaunchRaw(CUfunction function, const ToolGrid& grid, void** parameters,
                         CUstream stream) const;

  const GpuSession* session_;
  UniqueLibrary library_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_TOOL_MODULE_H_
