#include "src/source/template_set.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/source/embedded_templates.h"

namespace fusebox {

const TemplateSet& TemplateSet::Embedded() {
  static const TemplateSet* const kEmbedded = [] {
    std::map<std::string, std::string> files;
    for (const EmbeddedTemplate& file : EmbeddedTemplates()) files.emplace(file.path, file.text);
    return new TemplateSet(FromFiles(std::move(files)));
  }();
  return *kEmbedded;
}

TemplateSet TemplateSet::FromFiles(std::map<std::string, std::string> files) {
  TemplateSet set;
  set.files_ = std::make_shared<const std::map<std::string, std::string>>(std::move(files));
  return set;
}

const std::map<std::string, std::string>& TemplateSet::files() const {
  static const auto* const kNone = new std::map<std::string, std::string>;
  return files_ == nullptr ? *kNone : *files_;
}

absl::StatusOr<std::string_view> TemplateSet::Find(std::string_view path) const {
  const auto file = files().find(std::string(path));
  if (file == files().end()) {
    return absl::NotFoundError(
        absl::StrCat("template ", path, " is not in the set of ", files().size(), " files"));
  }
  return std::string_view(file->second);
}

absl::StatusOr<TemplateSet> TemplateSet::Replaced(std::string_view path, std::string_view from,
                                                  std::string_view to) const {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string_view text, Find(path));
  const size_t at = text.find(from);
  if (from.empty() || at == std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("template ", path, " does not contain: ", from));
  }
  if (text.find(from, at + 1) != std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("template ", path, " contains more than once: ", from));
  }
  std::map<std::string, std::string> files = this->files();
  files[std::string(path)].replace(at, from.size(), to);
  return FromFiles(std::move(files));
}

absl::StatusOr<TemplateSet> TemplateSet::ReachableFrom(std::string_view text) const {
  constexpr std::string_view kInclude = "\n#include \"";  // as every template spells it
  std::map<std::string, std::string> reached;
  std::vector<std::string_view> unread = {text};
  while (!unread.empty()) {
    const std::string_view reading = unread.back();
    unread.pop_back();
    for (size_t at = reading.find(kInclude); at != std::string_view::npos;
         at = reading.find(kInclude, at + 1)) {
      const size_t begin = at + kInclude.size();
      const std::string path(reading.substr(begin, reading.find('"', begin) - begin));
      FUSEBOX_ASSIGN_OR_RETURN(const std::string_view included, Find(path));
      if (reached.emplace(path, included).second) unread.push_back(included);
    }
  }
  return FromFiles(std::move(reached));
}

}  // namespace fusebox
