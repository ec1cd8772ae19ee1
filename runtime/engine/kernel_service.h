// KernelService hands out compiled kernels: from memory, from disk, else from NVRTC, and keeps what
// was made. Invariant: of several callers that want the same kernel one compiles; NVRTC is looked
// for only when a kernel is in no cache, so a warmed machine needs none. Needs no GPU. Thread-safe;
// no lock is held while compiling or doing I/O.
#ifndef FUSEBOX_RUNTIME_ENGINE_KERNEL_SERVICE_H_
#define FUSEBOX_RUNTIME_ENGINE_KERNEL_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cache/cubin_store.h"
#include "runtime/cache/single_flight.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/config/config.h"
#include "runtime/engine/counters.h"
#include "runtime/trace/event_log.h"
#include "src/source/kernel_source.h"

namespace fusebox {

enum class KernelOrigin { kMemory, kDisk, kCompiled };
enum class CompilePermission { kAllowed, kCachesOnly };

std::string_view ToString(KernelOrigin origin);  // "memory", "disk", "compiled"
CompilePermission PermissionFor(CompileMode mode);

struct ServedKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  KernelOrigin origin = KernelOrigin::kMemory;
};

class KernelService {
 public:
  struct Options {
    std::vector<std::string> cache_dirs;
    ToolkitPlaces toolkit_places;
    std::string nvrtc_path;
    std::string dump_dir;
    std::function<absl::StatusOr<std::shared_ptr<const NvrtcApi>>()>
        load_nvrtc;  // empty: from the places above
    int max_nvrtc_major =
        1 << 20;  // entries of newer ones are missed; without a driver there is no limit
  };

  // As configured, without a limit on NVRTC.
  static Options OptionsFrom(const Config& config);
  // `log` and `counters` must outlive the service.
  KernelService(Options options, const EventLog* log, EngineCounters* counters);

  // Unavailable (NOT_READY) for a miss with kCachesOnly; FailedPrecondition when NVRTC is needed
  // and not there.
  absl::StatusOr<ServedKernel> GetOrCompile(const KernelSource& source,
                                            CompilePermission permission);

  // For a kernel that the driver refused: compiles it whatever the caches hold, and keeps nothing.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> CompileAnew(const KernelSource& source);
  // The driver refused what is kept and took `kernel`: sets the entry aside, keeps `kernel`.
  void Replace(const KernelSource& source, const CompiledKernel& kernel, const std::string& reason);

  // Looked for until it is found, then kept.
  absl::StatusOr<std::shared_ptr<const NvrtcCompiler>> Compiler();
  CubinStore& store() { return store_; }

 private:
  using Kernel = std::shared_ptr<const CompiledKernel>;
  absl::StatusOr<Kernel> FindOrCompile(const KernelSource& source, CompilePermission permission,
                                       KernelOrigin* origin);
  void Keep(const KernelSource& source, const CompiledKernel& kernel);

  const Options options_;
  const EventLog* const log_;
  EngineCounters* const counters_;
  CubinStore store_;
  SingleFlightTable<CompiledKernel> kernels_;
  SingleFlightTable<NvrtcCompiler> compilers_;  // one, under kCompilerKey
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_KERNEL_SERVICE_H_
