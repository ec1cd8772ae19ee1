#include "runtime/engine/overrides.h"

#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache/files.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateRoot = "kernels_templates/";  // as includes spell it
// The host fills the parameters that this file lays out.
constexpr std::string_view kSharedWithHost = "kernels_templates/abi/kernel_params.h";
constexpr std::array<std::string_view, 3> kTemplateSuffixes = {".cuh", ".h", ".cu.in"};

bool IsTemplate(std::string_view name) {
  for (const std::string_view suffix : kTemplateSuffixes) {
    if (absl::EndsWith(name, suffix)) return true;
  }
  return false;
}

absl::Status BadKnob(std::string_view knob, const std::string& value, std::string_view sentence) {
  return absl::InvalidArgumentError(absl::StrCat(knob, "=", value, ": ", sentence));
}

absl::StatusOr<ForcedPlans> ReadForcedPlans(const std::string& value) {
  if (value.empty()) return ForcedPlans();
  constexpr std::string_view kKnob = "FUSEBOX_FORCE_PLAN";
  std::string text = value;
  if (value[0] == '@') {
    absl::StatusOr<std::string> read = ReadFile(value.substr(1));
    if (!read.ok()) return BadKnob(kKnob, value, read.status().message());
    text = *std::move(read);
  }
  absl::StatusOr<ForcedPlans> plans = ForcedPlans::Parse(text);
  if (plans.ok()) return plans;
  return absl::InvalidArgumentError(absl::StrCat(
      kKnob, value[0] == '@' ? absl::StrCat("=", value) : "", ": ", plans.status().message(),
      "; give a plan's JSON, as `fusebox plan --json` prints it, or @FILE with one "
      "plan a line"));
}

// A whole copy of kernels_templates/; files may be added to it.
absl::StatusOr<TemplateSet> ReadTemplates(const std::string& folder) {
  constexpr std::string_view kKnob = "FUSEBOX_TEMPLATE_DIR";
  int num_missing = 0;
  std::string first_missing;
  for (const auto& [path, text] : TemplateSet::Embedded().files()) {
    const std::string relative = path.substr(kTemplateRoot.size());
    if (NameExists(absl::StrCat(folder, "/", relative))) continue;
    if (num_missing++ == 0) first_missing = relative;
  }
  if (num_missing > 0) {
    return BadKnob(kKnob, folder,
                   absl::StrCat("the folder lacks ", first_missing,
                                num_missing > 1 ? absl::StrCat(" and ", num_missing - 1, " more")
                                                : std::string(),
                                " of the ", TemplateSet::Embedded().files().size(),
                                " files; name a whole copy of kernels_templates"));
  }
  absl::StatusOr<TemplateSet> templates = ReadTemplateTree(folder);
  if (!templates.ok()) return BadKnob(kKnob, folder, templates.status().message());
  if (*templates->Find(kSharedWithHost) != *TemplateSet::Embedded().Find(kSharedWithHost)) {
    return BadKnob(kKnob, folder,
                   "abi/kernel_params.h is not the one that this library was built with, and the "
                   "host fills what it lays out; leave it as it was, or build the library anew");
  }
  return templates;
}

}  // namespace

absl::StatusOr<TemplateSet> ReadTemplateTree(const std::string& folder) {
  std::map<std::string, std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string relative = it->path().lexically_relative(folder).generic_string();
    if (!IsTemplate(relative) || IsFolder(it->path().string())) continue;
    FUSEBOX_ASSIGN_OR_RETURN(files[absl::StrCat(kTemplateRoot, relative)],
                             ReadFile(it->path().string()));
  }
  if (error) return absl::NotFoundError(absl::StrCat("reading ", folder, ": ", error.message()));
  return TemplateSet::FromFiles(std::move(files));
}

absl::StatusOr<PlanOverrides> ReadOverrides(const Config& config) {
  PlanOverrides overrides;
  overrides.slower = config.decline_slower ? SlowerPlans::kDecline : SlowerPlans::kServe;
  FUSEBOX_ASSIGN_OR_RETURN(overrides.plans, ReadForcedPlans(config.force_plan));
  if (!config.template_dir.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(overrides.templates, ReadTemplates(config.template_dir));
  }
  return overrides;
}

}  // namespace fusebox
