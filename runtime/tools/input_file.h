// ReadInputFile reads a text file that the user named. Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_INPUT_FILE_H_
#define FUSEBOX_RUNTIME_TOOLS_INPUT_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fusebox {

// `kind` and `expected` are for the sentences: "model file", "a Hugging Face config.json". Reads at
// most `max_bytes`. NotFound or InvalidArgument where it cannot be read.
absl::StatusOr<std::string> ReadInputFile(const std::string& path, std::string_view kind,
                                          std::string_view expected, size_t max_bytes);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_INPUT_FILE_H_
