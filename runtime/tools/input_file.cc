#include "runtime/tools/input_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fusebox {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadInputFile(const std::string& path, std::string_view kind,
                                          std::string_view expected, size_t max_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return absl::NotFoundError(
        absl::StrCat(kind, " ", path, " does not exist; give the path of ", expected));
  }
  if (fs::is_directory(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " ", path, " is a folder; give ", expected, " inside it"));
  }
  if (!fs::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " ", path, " is no regular file; give the path of ", expected));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(max_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " ", path, " cannot be read; check its permissions"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace fusebox
