// TemplateSet is the device code a kernel may include: root-spelled path to text, sorted by path.
// The embedded set is what ships; tests make variants of it with Replaced (mutations) or FromFiles
// (edited templates). Cheap to copy (shared, immutable). Thread-safe.
#ifndef FUSEBOX_SRC_SOURCE_TEMPLATE_SET_H_
#define FUSEBOX_SRC_SOURCE_TEMPLATE_SET_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fusebox {

class TemplateSet {
 public:
  TemplateSet() = default;
  static const TemplateSet& Embedded();  // never destroyed
  static TemplateSet FromFiles(std::map<std::string, std::string> files);

  // A copy in which `from` (which must occur exactly once in `path`) reads `to`. NotFound or
  // InvalidArgument otherwise.
  absl::StatusOr<TemplateSet> Replaced(std::string_view path, std::string_view from,
                                       std::string_view to) const;

  // The files that `text` includes, directly or through others. NotFound for one that is not in the
  // set.
  absl::StatusOr<TemplateSet> ReachableFrom(std::string_view text) const;

  const std::map<std::string, std::string>& files() const;
  absl::StatusOr<std::string_view> Find(std::string_view path) const;

 private:
  std::shared_ptr<const std::map<std::string, std::string>> files_;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_TEMPLATE_SET_H_
