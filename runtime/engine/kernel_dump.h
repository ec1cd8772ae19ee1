// DumpKernel leaves one folder per kernel for people: plan, source with every header, cubin, log,
// and a script that compiles it again. Overwrites an older dump of the same kernel. Thread-safe for
// different kernels.
#ifndef FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_
#define FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "src/source/kernel_source.h"

namespace fusebox {

// `compiled` may be a failure: its log is dumped then.
absl::Status DumpKernel(const std::string& dump_dir, const KernelSource& source,
                        const absl::StatusOr<CompiledKernel>& compiled);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_
