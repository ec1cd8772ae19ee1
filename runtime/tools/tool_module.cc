#include "runtime/tools/tool_module.h"

#include <utility>

#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<ToolModule> ToolModule::Load(GpuSession& session, const KernelSource& source) {
  FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel served,
                           session.kernels().GetOrCompile(source, session.permission()));
  CUlibrary library = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().LibraryLoadData(&library, served.kernel->cubin.data(), nullptr,
                                                  nullptr, 0, nullptr, nullptr, 0),
                    "cuLibraryLoadData"));
  return ToolModule(&session, UniqueLibrary(session.shared_api(), library));
}

absl::StatusOr<CUfunction> ToolModule::Find(const char* entry) const {
  CUkernel kernel = nullptr;
  FUSEBOX_RETURN_IF_ERROR(session_->Check(
      session_->api().LibraryGetKernel(&kernel, library_.get(), entry), "cuLibraryGetKernel"));
  CUfunction function = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      session_->Check(session_->api().KernelGetFunction(&function, kernel), "cuKernelGetFunction"));
  return function;
}

absl::Status ToolModule::AllowDynamicSmem(CUfunction function, int bytes) const {
  return session_->Check(session_->api().FuncSetAttribute(
                             function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
                         "cuFuncSetAttribute");
}

absl::Status ToolModule::LaunchRaw(CUfunction function, const ToolGrid& grid, void** parameters,
                                   CUstream stream) const {
  return session_->Check(
      session_->api().LaunchKernel(
          function, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), 1,
          static_cast<unsigned>(grid.threads), 1, 1, static_cast<unsigned>(grid.dynamic_smem_bytes),
          stream, parameters, nullptr),
      "cuLaunchKernel");
}

}  // namespace fusebox
