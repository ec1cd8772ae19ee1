#include "runtime/cache/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadPiece = 1 << 18;
constexpr size_t kMaxFileBytes = size_t{64}
                                 << 20;  // a cubin is about 100 KB; more than this is none of ours

absl::Status FileError(std::string_view action, const std::string& path, int error) {
  const std::string message = absl::StrCat(action, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == ELOOP || error == EISDIR || error == EFBIG) return absl::DataLossError(message);
  return absl::UnavailableError(message);
}

class UniqueFile {
 public:
  explicit UniqueFile(int descriptor) : descriptor_(descriptor) {}
  ~UniqueFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  UniqueFile(const UniqueFile&) = delete;
  UniqueFile& operator=(const UniqueFile&) = delete;
  int get() const { return descriptor_; }
  int Close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return ::close(descriptor);
  }

 private:
  int descriptor_;
};

int OpenRetrying(const std::string& path, int flags) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

absl::Status WriteAll(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return FileError("writing", path, count < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  UniqueFile file(OpenRetrying(path, O_RDONLY | O_NONBLOCK));
  if (file.get() < 0) return FileError("opening", path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return FileError("looking at", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::DataLossError(absl::StrCat("reading ", path, ": it is no regular file"));
  }
  std::string bytes;
  while (true) {
    const size_t old_size = bytes.size();
    bytes.resize(old_size + kReadPiece);
    const ssize_t count = ::read(file.get(), bytes.data() + old_size, kReadPiece);
    bytes.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("reading", path, errno);
    if (count == 0) return bytes;
    if (bytes.size() > kMaxFileBytes) return FileError("reading", path, EFBIG);
  }
}

absl::Status WriteNewFile(const std::string& path, std::string_view bytes) {
  UniqueFile file(OpenRetrying(path, O_WRONLY | O_CREAT | O_EXCL));
  if (file.get() < 0) return FileError("creating", path, errno);
  FUSEBOX_RETURN_IF_ERROR(WriteAll(file.get(), bytes, path));
  if (::fsync(file.get()) != 0) return FileError("syncing", path, errno);
  if (file.Close() != 0) return FileError("closing", path, errno);
  return absl::OkStatus();
}

absl::Status AppendToFile(const std::string& path, std::string_view bytes) {
  UniqueFile file(OpenRetrying(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK));
  if (file.get() < 0) return FileError("opening", path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return FileError("looking at", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::DataLossError(absl::StrCat("writing ", path, ": it is no regular file"));
  }
  FUSEBOX_RETURN_IF_ERROR(WriteAll(file.get(), bytes, path));
  if (file.Close() != 0) return FileError("closing", path, errno);
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& path) {
  UniqueFile folder(OpenRetrying(path, O_RDONLY | O_DIRECTORY));
  if (folder.get() < 0) return FileError("opening", path, errno);
  // EINVAL: a file system whose folders cannot be synced, as some network ones.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return FileError("syncing", path, errno);
  return absl::OkStatus();
}

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error && !IsFolder(path)) return FileError("creating", path, error.value());
  return absl::OkStatus();
}

std::string UniqueName(std::string_view prefix) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random))) {
    random =
        reinterpret_cast<uintptr_t>(&random);  // then the pid and mkdir's exclusiveness have to do
  }
  return absl::StrFormat("%s%d-%016x", prefix, ::getpid(), random);
}

absl::StatusOr<std::string> MakeUniqueFolder(const std::string& parent, std::string_view prefix) {
  std::string path = absl::StrCat(parent, "/", UniqueName(prefix));
  if (::mkdir(path.c_str(), 0777) != 0) return FileError("creating", path, errno);
  return path;
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool NameExists(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

absl::Status CheckFolder(const std::string& path) {
  UniqueFile folder(OpenRetrying(path, O_RDONLY | O_DIRECTORY));
  if (folder.get() < 0) return FileError("opening", path, errno);
  if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    return FileError("opening", path, errno);
  }
  return absl::OkStatus();
}

std::vector<std::string> NewestFirst(const std::string& path, std::string_view prefix) {
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::string>> names;
  for (std::string& name : ListFolder(path)) {
    struct stat status = {};
    if (!absl::StartsWith(name, prefix)) continue;
    if (::lstat(absl::StrCat(path, "/", name).c_str(), &status) != 0) continue;
    // A rename is a change of status.
    names.emplace_back(std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec), std::move(name));
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  std::vector<std::string> sorted;
  for (auto& [time, name] : names) sorted.push_back(std::move(name));
  return sorted;
}

int64_t SecondsSinceChange(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return -1;
  return static_cast<int64_t>(std::time(nullptr)) - static_cast<int64_t>(status.st_mtim.tv_sec);
}

std::vector<std::string> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void RemoveFolder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
}

RenameOutcome RenameFolder(const std::string& from, const std::string& to,
                           std::string* error_text) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return RenameOutcome::kDone;
  if (errno == EEXIST || errno == ENOTEMPTY) return RenameOutcome::kTargetExists;
  *error_text = absl::StrCat("renaming ", from, " to ", to, ": ", std::strerror(errno));
  return RenameOutcome::kFailed;
}

}  // namespace fusebox
