#include "src/source/render.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace fusebox {

absl::StatusOr<std::string> Render(std::string_view text,
                                   const std::map<std::string, std::string>& values) {
  std::string rendered;
  std::set<std::string> used;
  size_t at = 0;
  while (true) {
    const size_t open = text.find("${", at);
    rendered.append(text.substr(at, open - at));  // to the end when there is no more
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("placeholder at byte ", open, " has no closing brace"));
    }
    const std::string name(text.substr(open + 2, close - open - 2));
    const auto value = values.find(name);
    if (value == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("placeholder ${", name, "} has no value"));
    }
    rendered.append(value->second);
    used.insert(name);
    at = close + 1;
  }
  for (const auto& [name, value] : values) {
    if (!used.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", name, " has no placeholder in the template"));
    }
  }
  return rendered;
}

}  // namespace fusebox
