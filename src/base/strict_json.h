// StrictJson reads a JSON object whose every field is known: dotted paths, exact types, stated
// ranges. It remembers the first thing that is wrong and goes on with harmless values; Finish
// reports it, or a field that nobody read. Duplicate keys, trailing text and floats where integers
// belong are errors. Not thread-safe.
#ifndef FUSEBOX_SRC_BASE_STRICT_JSON_H_
#define FUSEBOX_SRC_BASE_STRICT_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fusebox {

class StrictJson {
 public:
  // `what` begins every message: "plan", "profile h200-sxm". InvalidArgument when `text` is no JSON
  // object.
  static absl::StatusOr<StrictJson> Parse(std::string_view text, std::string_view what);

  int64_t Integer(std::string_view path, int64_t min, int64_t max);
  double Number(std::string_view path, double min, double max);
  std::string String(std::string_view path);  // not empty

  // One of `choices`, whose name is compared with the field's text.
  template <typename Enum>
  Enum Choice(std::string_view path, std::span<const std::pair<std::string_view, Enum>> choices) {
    const std::string text = String(path);
    for (const auto& [name, value] : choices) {
      if (text == name) return value;
    }
    Fail(path, absl::StrCat("is \"", absl::CHexEscape(text.substr(0, 40)), "\"; accepted: ",
                            absl::StrJoin(choices, ", ", [](std::string* out, const auto& choice) {
                              absl::StrAppend(out, choice.first);
                            })));
    return choices.front().second;
  }

  void Fail(std::string_view path, std::string_view sentence);  // kept if it is the first
  absl::Status Finish() const;

 private:
  StrictJson(std::string what, nlohmann::json root)
      : what_(std::move(what)), root_(std::move(root)) {}
  const nlohmann::json* Find(std::string_view path);  // nullptr, and a failure, when missing
  void FindUnread(const nlohmann::json& node, const std::string& path, std::string* unread) const;

  std::string what_;
  nlohmann::json root_;
  std::set<std::string, std::less<>> read_;
  absl::Status status_;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_BASE_STRICT_JSON_H_
