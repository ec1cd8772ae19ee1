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
  std::string folder;   // the entry's files
  EntryMeta meta;       // empty fields where `status` is not OK
  int64_t bytes = 0;    // all files of the entry
  absl::Status status;  // OK; IsStale: another build's; DataLoss: corrupted; else unreadable
  std::string
      text_fault;  // kernel.cu or plan.json is not as written; the kernel is loaded all the same
};

// What Find does with a bad entry. One that no new kernel will replace is left where it is.
enum class BadEntries { kSetAside, kLeave };

class CubinStore {
 public:
  static constexpr size_t kMaxBadEntries = 16;  // to be looked at, in each architecture's folder

  // `roots`: all are searched in order, only the first is written; none: nothing is kept. `log`
  // must outlive the store.
  CubinStore(std::vector<std::string> roots, const EventLog* log);

  // An entry that is bad is missed, and set aside (renamed to .bad-*, of which the newest
  // kMaxBadEntries stay) unless it is to be left; one of another build's
  // schema, or made by an NVRTC newer than `max_nvrtc_major`, which the driver could not load, is
  // missed.
  std::optional<CompiledKernel> Find(const KernelSource& source, int max_nvrtc_major,
                                     BadEntries bad_entries = BadEntries::kSetAside);

  // OK also when another process was first. Replaces an entry that is stale, that cannot be read,
  // or that a newer NVRTC major made: whatever driver loads that one loads this one too. A failure
  // is logged once for the store's life. Removes what killed writers left an hour ago.
  absl::Status Store(const KernelSource& source, const CompiledKernel& kernel);

  // Sets the source's entry aside in every root: the driver refused it.
  void SetAside(const KernelSource& source, const std::string& reason);

  // Sorted by root, architecture and digest. List reads the metadata; Verify reads and checks every
  // byte.
  std::vector<CacheEntryReport> List() const;
  std::vector<CacheEntryReport> Verify() const;
  // The first root that is not there or cannot be read, as NotFound or Unavailable.
  absl::Status CheckRoots() const;

  const std::vector<std::string>& roots() const { return roots_; }
  uint64_t num_bad_entries() const { return num_bad_entries_.load(std::memory_order_relaxed); }
  uint64_t num_write_failures() const {
    return num_write_failures_.load(std::memory_order_relaxed);
  }

 private:
  absl::Status WriteEntry(const std::string& root, const KernelSource& source,
                          const CompiledKernel& kernel);
  absl::Status MakeWay(const std::string& root, const KernelSource& source,
                       const CompiledKernel& kernel, bool* served);
  void SetAsideIn(const std::string& root, const KernelSource& source, const std::string& reason);

  const std::vector<std::string> roots_;
  const EventLog* const log_;
  std::atomic<uint64_t> num_bad_entries_ = 0;
  std::atomic<uint64_t> num_write_failures_ = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CACHE_CUBIN_STORE_H_
