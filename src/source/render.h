// Render fills a template by name: every ${name} becomes its value.
// Strict both ways: a placeholder without a value and a value without a placeholder are errors.
// Pure function.
#ifndef FUSEBOX_SRC_SOURCE_RENDER_H_
#define FUSEBOX_SRC_SOURCE_RENDER_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fusebox {

absl::StatusOr<std::string> Render(std::string_view text,
                                   const std::map<std::string, std::string>& values);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_RENDER_H_
