// The few file operations that the disk cache is made of, each with its errno in the message.
// POSIX; thread-safe.
#ifndef FUSEBOX_RUNTIME_CACHE_FILES_H_
#define FUSEBOX_RUNTIME_CACHE_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fusebox {

// NotFound when there is no such file; DataLoss for what can never be read as one of our files (no
// regular file, a loop of links, too large); Unavailable for any other failure. Never blocks on a
// pipe.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Creates `path`, which must not exist; written, fsynced and closed, each checked.
absl::Status WriteNewFile(const std::string& path, std::string_view bytes);
// Adds `bytes` at the end of `path`, made if it is not there, in one write, so that several writers
// do not mix. No bytes: only whether it can be done.
absl::Status AppendToFile(const std::string& path, std::string_view bytes);
absl::Status SyncFolder(const std::string& path);
// Creates the folder and those above it.
absl::Status MakeFolders(const std::string& path);
// Creates `<parent>/<prefix><pid>-<random>`, which nobody else has.
absl::StatusOr<std::string> MakeUniqueFolder(const std::string& parent, std::string_view prefix);
// A name that nobody else makes: `<prefix><pid>-<random>`.
std::string UniqueName(std::string_view prefix);
bool IsFolder(const std::string& path);
// Whether anything has that name: also a link to nothing.
bool NameExists(const std::string& path);
// NotFound or Unavailable for a folder whose names cannot be read.
absl::Status CheckFolder(const std::string& path);
// Names in the folder, sorted; empty when it cannot be read.
std::vector<std::string> ListFolder(const std::string& path);
// Names in the folder that begin with `prefix`, the one that was last changed or renamed first.
std::vector<std::string> NewestFirst(const std::string& path, std::string_view prefix);
// Seconds since the folder's names last changed; negative for a time to come, or an unknown one.
int64_t SecondsSinceChange(const std::string& path);
// As far as it goes; failures are ignored.
void RemoveFolder(const std::string& path);

enum class RenameOutcome { kDone, kTargetExists, kFailed };
// Atomic; never replaces a folder that holds something. `error_text` gets the reason of kFailed.
RenameOutcome RenameFolder(const std::string& from, const std::string& to, std::string* error_text);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CACHE_FILES_H_
