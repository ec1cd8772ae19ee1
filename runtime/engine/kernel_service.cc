#include "runtime/engine/kernel_service.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/engine/kernel_dump.h"
#include "src/base/status.h"

namespace fusebox {

std::string_view ToString(KernelOrigin origin) {
  switch (origin) {
    case KernelOrigin::kMemory:
      return "memory";
    case KernelOrigin::kDisk:
      return "disk";
    case KernelOrigin::kCompiled:
      return "compiled";
  }
  return "unknown";
}

CompilePermission PermissionFor(CompileMode mode) {
  return mode == CompileMode::kNever ? CompilePermission::kCachesOnly : CompilePermission::kAllowed;
}

KernelService::Options KernelService::OptionsFrom(const Config& config) {
  return {.cache_dirs = config.cache_dirs,
          .toolkit_places = config.toolkit_places,
          .nvrtc_path = config.nvrtc_path,
          .dump_dir = config.dump_dir};
}

KernelService::KernelService(Options options, const EventLog* log, EngineCounters* counters)
    : options_(std::move(options)),
      log_(log),
      counters_(counters),
      store_(options_.cache_dirs, log) {}

absl::StatusOr<ServedKernel> KernelService::GetOrCompile(const KernelSource& source,
                                                         CompilePermission permission) {
  const Fingerprint digest = source.Digest();
  while (true) {
    ServedKernel served;
    FlightRole role = FlightRole::kFound;
    const absl::StatusOr<Kernel> kernel = kernels_.GetOrMake(
        digest, [&] { return FindOrCompile(source, permission, &served.origin); }, &role);
    // We waited for a caller that may not compile; we may.
    if (role == FlightRole::kWaited && permission == CompilePermission::kAllowed &&
        absl::IsUnavailable(kernel.status())) {
      continue;
    }
    FUSEBOX_RETURN_IF_ERROR(kernel.status());
    if (role != FlightRole::kMade) counters_->cache_memory_hits.Add();
    served.kernel = *kernel;
    return served;
  }
}

absl::StatusOr<KernelService::Kernel> KernelService::FindOrCompile(const KernelSource& source,
                                                                   CompilePermission permission,
                                                                   KernelOrigin* origin) {
  std::optional<CompiledKernel> found = store_.Find(
      source, options_.max_nvrtc_major,
      permission == CompilePermission::kAllowed ? BadEntries::kSetAside : BadEntries::kLeave);
  counters_->cache_bad_entries.Set(store_.num_bad_entries());
  if (found.has_value()) {
    counters_->cache_disk_hits.Add();
    *origin = KernelOrigin::kDisk;
    log_->Write(LogLevel::kDebug, "cache",
                {{"event", "hit"}, {"kernel", source.name}, {"fp", source.Digest().ToHex()}});
    return std::make_shared<const CompiledKernel>(*std::move(found));
  }
  counters_->cache_misses.Add();
  if (permission == CompilePermission::kCachesOnly) {
    return absl::UnavailableError(absl::StrCat(
        source.name,
        " is in no cache and compiling is not allowed (FUSEBOX_COMPILE=never); warm the "
        "cache with `fusebox warm`, and run your own path meanwhile"));
  }
  *origin = KernelOrigin::kCompiled;
  FUSEBOX_ASSIGN_OR_RETURN(Kernel compiled, CompileAnew(source));
  Keep(source, *compiled);
  return compiled;
}

absl::StatusOr<KernelService::Kernel> KernelService::CompileAnew(const KernelSource& source) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::shared_ptr<const NvrtcCompiler> compiler, Compiler());
  absl::StatusOr<CompiledKernel> compiled = compiler->Compile(source);
  if (!options_.dump_dir.empty()) {
    const absl::Status dumped = DumpKernel(options_.dump_dir, source, compiled);
    if (!dumped.ok()) {
      log_->Write(LogLevel::kWarn, "compile",
                  {{"event", "dump_failed"}, {"reason", dumped.message()}});
    }
  }
  FUSEBOX_RETURN_IF_ERROR(compiled.status());
  counters_->compiles.Add();
  counters_->compile_microseconds.Add(static_cast<uint64_t>(compiled->milliseconds * 1000));
  log_->Write(
      LogLevel::kInfo, "compile",
      {{"kernel", source.name},
       {"fp", source.Digest().ToHex()},
       {"ms", compiled->milliseconds},
       {"regs", compiled->resources.registers},
       {"spill", compiled->resources.spill_store_bytes + compiled->resources.spill_load_bytes},
       {"local", compiled->resources.stack_bytes},
       {"cubin", static_cast<int64_t>(compiled->cubin.size())},
       {"nvrtc", compiled->nvrtc_version}});
  return std::make_shared<const CompiledKernel>(*std::move(compiled));
}

void KernelService::Keep(const KernelSource& source, const CompiledKernel& kernel) {
  (void)store_.Store(source, kernel);  // logged once by the store; memory serves all the same
  counters_->cache_bad_entries.Set(store_.num_bad_entries());
  counters_->cache_write_failures.Set(store_.num_write_failures());
}

void KernelService::Replace(const KernelSource& source, const CompiledKernel& kernel,
                            const std::string& reason) {
  kernels_.Forget(source.Digest());
  store_.SetAside(source, reason);
  Keep(source, kernel);
}

absl::StatusOr<std::shared_ptr<const NvrtcCompiler>> KernelService::Compiler() {
  constexpr Fingerprint kCompilerKey = {};
  return compilers_.GetOrMake(
      kCompilerKey, [&]() -> absl::StatusOr<std::shared_ptr<const NvrtcCompiler>> {
        FUSEBOX_ASSIGN_OR_RETURN(std::shared_ptr<const NvrtcApi> api,
                                 options_.load_nvrtc != nullptr
                                     ? options_.load_nvrtc()
                                     : LoadNvrtc(options_.toolkit_places, options_.nvrtc_path));
        log_->Write(LogLevel::kDebug, "compile",
                    {{"event", "nvrtc"}, {"version", api->VersionString()}, {"path", api->path}});
        return std::make_shared<const NvrtcCompiler>(std::move(api));
      });
}

}  // namespace fusebox
