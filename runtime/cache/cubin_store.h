// CubinStore keeps compiled kernels on disk: <root>/v1/<architecture>/<digest>/{kernel.cubin,
// meta.json, ...}. Invariant: an entry that exists is complete (written aside, fsynced, renamed)
// and is used only if its checksum holds. An entry names no machine and no path, so a root can be
// copied, tarred, and mounted read-only. Thread-safe, and safe against other processes that share a
// root: there is no lock to wait for.
#ifndef FUSEBOX_RUNTIME_CACHE_CUBIN_STORE_H_
#define FUSEBOX_RUNTIME_CACHE_CUBIN_STORE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/cache/entry_format.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/trace/event_log.h"
#include "src/source/kernel_source.h"

namespace fusebox {

// One entry for `cache ls` and `cache verify`.
struct CacheEntryReport {
  std::string root;
  std::string digest;
  EntryMeta meta;       // empty fields where `status` is not OK
  int64_t bytes = 0;    // all files of the entry
  absl::Status status;  // OK; IsStale: another build's; DataLoss: corrupted; else unreadable
};

class CubinStore {
 public:
  // `roots`: all are searched in order, only the first is written; none: nothing is kept. `log`
  // must outlive the store.
  CubinStore(std::vector<std::string> roots, const EventLog* log);

  // An entry that is bad is set aside (renamed to .bad-*) and missed; one of another build's
  // schema, or made by an NVRTC newer than `max_nvrtc_major`, which the driver could not load, is
  // missed.
  std::optional<CompiledKernel> Find(const KernelSource& source, int max_nvrtc_major);

  // OK also when another process was first. Replaces a stale entry. A failure changes nothing and
  // is logged once for the store's life.
  absl::Status Store(const KernelSource& source, const CompiledKernel& kernel);

  // Sets the source's entry aside in every root: the driver refused it.
  void SetAside(const KernelSource& source, const std::string& reason);

  // Sorted by root, architecture and digest. List reads the metadata; Verify reads and checks every
  // byte.
  std::vector<CacheEntryReport> List() const;
  std::vector<CacheEntryReport> Verify() const;

  const std::vector<std::string>& roots() const { return roots_; }
  uint64_t num_bad_entries() const { return num_bad_entries_.load(std::memory_order_relaxed); }
  uint64_t num_write_failures() const {
    return num_write_failures_.load(std::memory_order_relaxed);
  }

 private:
  absl::Status WriteEntry(const std::string& root, const KernelSource& source,
                          const CompiledKernel& kernel) const;
  void SetAsideIn(const std::string& root, const KernelSource& source, const std::string& reason);

  const std::vector<std::string> roots_;
  const EventLog* const log_;
  std::atomic<uint64_t> num_bad_entries_ = 0;
  std::atomic<uint64_t> num_write_failures_ = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CACHE_CUBIN_STORE_H_
