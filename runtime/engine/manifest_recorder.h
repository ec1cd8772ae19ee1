// ManifestRecorder appends every op and token tile that an engine is asked for to a manifest
// (src/model/manifest.h), each once. Several engines and processes may share the file: a line is
// one write at its end, and what stands there already is not written again. A file that cannot be
// written, or that is no manifest, is said once and left alone; the engine goes on.
// Invariant: called where kernels are prepared, never by a launch. Thread-safe; no lock is held
// during I/O.
#ifndef FUSEBOX_RUNTIME_ENGINE_MANIFEST_RECORDER_H_
#define FUSEBOX_RUNTIME_ENGINE_MANIFEST_RECORDER_H_

#include <atomic>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/trace/event_log.h"
#include "src/model/manifest.h"

namespace fusebox {

class ManifestRecorder {
 public:
  // Looks whether `path` can be recorded to; an empty one records nothing. `log` must outlive the
  // recorder.
  ManifestRecorder(std::string path, std::string profile, const EventLog* log);

  bool enabled() const { return !path_.empty(); }
  void Record(const FfnProblem& problem, int token_tile) noexcept ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Complain(const absl::Status& status) noexcept;

  const std::string path_;
  const std::string profile_;
  const EventLog* const log_;
  std::atomic<bool> failed_ = false;
  absl::Mutex mutex_;
  std::set<ManifestEntry> recorded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_MANIFEST_RECORDER_H_
