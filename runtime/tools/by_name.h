// ByName finds the value that an option names, by the ToString of its type. Pure.
#ifndef FUSEBOX_RUNTIME_TOOLS_BY_NAME_H_
#define FUSEBOX_RUNTIME_TOOLS_BY_NAME_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace fusebox {

// InvalidArgument, with the accepted names, where `text` is none of `choices`.
template <typename Enum>
absl::StatusOr<Enum> ByName(std::string_view option, std::string_view text,
                            std::initializer_list<Enum> choices) {
  std::string accepted;
  for (const Enum choice : choices) {
    if (ToString(choice) == text) return choice;
    absl::StrAppend(&accepted, accepted.empty() ? "" : ", ", ToString(choice));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", text, " is unknown; accepted: ", accepted));
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BY_NAME_H_
