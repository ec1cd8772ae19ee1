#include "runtime/engine/manifest_recorder.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/cache/files.h"
#include "runtime/engine/catch_exceptions.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

struct FileContent {
  std::set<ManifestEntry> entries;
  bool ends_in_a_line = true;  // else somebody is writing one, or was when he was killed
};

// Nothing for a file that is not there (any more): it is made when there is something to write.
absl::StatusOr<FileContent> ReadContent(const std::string& path) {
  const absl::StatusOr<std::string> read = ReadFile(path);
  if (absl::IsNotFound(read.status())) return FileContent();
  FUSEBOX_ASSIGN_OR_RETURN(const std::string text, read);
  if (!text.empty() && !absl::StartsWith(text, kManifestBeginning)) {
    return absl::DataLossError(
        absl::StrCat("the file is no manifest: it does not begin with ", kManifestBeginning));
  }
  FileContent content = {.ends_in_a_line = text.empty() || text.back() == '\n'};
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    // A line that was cut off is for `fusebox warm` to name; it keeps nobody from recording.
    const absl::StatusOr<std::vector<ManifestEntry>> entries = ParseManifest(line);
    if (entries.ok()) content.entries.insert(entries->begin(), entries->end());
  }
  return content;
}

// Others may have written since the engine was made, so what stands in the file is read again.
absl::Status AppendEntry(const std::string& path, const ManifestEntry& entry) {
  FUSEBOX_ASSIGN_OR_RETURN(const FileContent content, ReadContent(path));
  if (content.entries.contains(entry)) return absl::OkStatus();
  return AppendToFile(path, absl::StrCat(content.ends_in_a_line ? "" : "\n", ManifestLine(entry)));
}

}  // namespace

ManifestRecorder::ManifestRecorder(std::string path, std::string profile, const EventLog* log)
    : path_(std::move(path)), profile_(std::move(profile)), log_(log) {
  if (!enabled()) return;
  absl::Status status = AppendToFile(path_, "");
  if (status.ok()) status = ReadContent(path_).status();
  Complain(status);
}

void ManifestRecorder::Record(const FfnProblem& problem, int token_tile) noexcept {
  if (!enabled() || failed_.load(std::memory_order_relaxed)) return;
  Complain(CatchExceptions([&] {
    const ManifestEntry entry = {.profile = profile_,
                                 .op = {.problem = problem, .token_tile = token_tile}};
    {
      absl::MutexLock lock(&mutex_);
      if (!recorded_.insert(entry).second) return absl::OkStatus();
    }
    return AppendEntry(path_, entry);
  }));
}

void ManifestRecorder::Complain(const absl::Status& status) noexcept {
  if (status.ok() || failed_.exchange(true)) return;
  (void)CatchExceptions([&] {
    log_->Write(LogLevel::kWarn, "record",
                {{"event", "failed"},
                 {"file", path_},
                 {"reason", status.message()},
                 {"effect", "nothing more is recorded; name a file of its own in FUSEBOX_RECORD"}});
    return absl::OkStatus();
  });
}

}  // namespace fusebox
