// A kernel dump is one folder a kernel for people: plan, source with every header, how it was
// compiled (source.json), cubin, log, and a script that compiles it again. `fusebox compile` reads
// one. Invariant: a folder that exists is complete; a newer dump of a kernel takes an older one's
// place. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_
#define FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "src/source/kernel_source.h"

namespace fusebox {

constexpr char kDumpedCubin[] = "kernel.cubin";

// `compiled` may be a failure: its log is dumped then.
absl::Status DumpKernel(const std::string& dump_dir, const KernelSource& source,
                        const absl::StatusOr<CompiledKernel>& compiled);

struct DumpedKernel {
  KernelSource source;        // as the files are now; without launch shape
  std::string dumped_digest;  // as it was; differs from source.Digest() once a file is edited
};

// NotFound or InvalidArgument, with the folder's name, for one that holds no dump.
absl::StatusOr<DumpedKernel> ReadDumpedKernel(const std::string& folder);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_KERNEL_DUMP_H_
