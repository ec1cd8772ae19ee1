// Progress tells a person on stderr how far a list of pieces of work is: a bar that is redrawn on a
// terminal, one line a piece elsewhere, nothing when silent. Invariant: on a terminal the bar's
// line is gone once the object is destroyed. Thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_PROGRESS_H_
#define FUSEBOX_RUNTIME_TOOLS_PROGRESS_H_

#include <cstdio>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fusebox {

class Progress {
 public:
  enum class Style { kSilent, kLines, kBar };
  static Style StyleFor(std::FILE* stream);  // kBar on a terminal, kLines elsewhere

  Progress(std::FILE* stream, Style style, int total)
      : stream_(stream), style_(style), total_(total) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Finished(std::string_view piece, std::string_view outcome);

  // "[##########..........]  5/10  piece: outcome", cut to `columns`.
  static std::string BarText(int done, int total, std::string_view piece, std::string_view outcome,
                             int columns);

 private:
  std::FILE* const stream_;
  const Style style_;
  const int total_;
  absl::Mutex mutex_;
  int done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_PROGRESS_H_
