#include "runtime/tools/warm_manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tools/input_file.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr size_t kMaxManifestBytes = size_t{16} << 20;  // fifty thousand lines

std::set<std::string> ProfilesOf(const ManifestRequest& manifest) {
  std::set<std::string> profiles;
  for (const ManifestEntry& entry : manifest.entries) profiles.insert(entry.profile);
  return profiles;
}

absl::StatusOr<ManifestRequest> ReadManifest(const std::string& file) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(file, "manifest", "a file that FUSEBOX_RECORD named", kMaxManifestBytes + 1));
  if (text.size() > kMaxManifestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("manifest ", file, " has more than ", kMaxManifestBytes, " bytes; split it"));
  }
  absl::StatusOr<std::vector<ManifestEntry>> entries = ParseManifest(text);
  if (!entries.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("manifest ", file, ": ", entries.status().message()));
  }
  if (entries->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "manifest ", file, " lists no op; run the engine with FUSEBOX_RECORD=", file, " first"));
  }
  return ManifestRequest{.file = file, .entries = *std::move(entries)};
}

}  // namespace

absl::StatusOr<std::vector<ManifestRequest>> ReadManifests(const std::vector<std::string>& files) {
  std::vector<ManifestRequest> manifests;
  for (const std::string& file : files) {
    const bool is_read = std::any_of(manifests.begin(), manifests.end(),
                                     [&](const auto& manifest) { return manifest.file == file; });
    if (is_read) continue;
    FUSEBOX_ASSIGN_OR_RETURN(ManifestRequest manifest, ReadManifest(file));
    manifests.push_back(std::move(manifest));
  }
  return manifests;
}

absl::StatusOr<std::string> ProfileOf(const std::vector<ManifestRequest>& manifests) {
  std::set<std::string> profiles;
  for (const ManifestRequest& manifest : manifests) profiles.merge(ProfilesOf(manifest));
  if (profiles.size() == 1) return *profiles.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      "the manifest was recorded on several GPU types: ", absl::StrJoin(profiles, ", "),
      "; warm for one of them at a time, all that is listed, with --gpu NAME"));
}

std::string DescribeManifest(const ManifestRequest& manifest) {
  return absl::StrCat(manifest.file, ": ", manifest.entries.size(),
                      manifest.entries.size() == 1 ? " op and token tile" : " ops and token tiles",
                      ", recorded on ", absl::StrJoin(ProfilesOf(manifest), ", "));
}

}  // namespace fusebox
