// ParsePtxasReport reads the resources of a kernel out of the log that ptxas writes with -v.
// The log is preferred to the cubin's sections because only it tells spills from other local
// memory. Thread-safe.
#ifndef FUSEBOX_RUNTIME_COMPILE_PTXAS_REPORT_H_
#define FUSEBOX_RUNTIME_COMPILE_PTXAS_REPORT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"

namespace fusebox {

// Internal when the log names no register count: a kernel whose spills are unknown is not used.
absl::StatusOr<KernelResources> ParsePtxasReport(std::string_view log);

// The log without the lines that differ from run to run (compile times).
std::string WithoutTimings(std::string_view log);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_COMPILE_PTXAS_REPORT_H_
