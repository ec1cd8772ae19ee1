#include "src/model/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/base/strict_json.h"
#include "src/shape/problem_json.h"

namespace fusebox {
namespace {

constexpr int kMaxVersion = 1'000'000;  // so that a version to come is named, not called too large

int ReadTokenTile(StrictJson& json) {
  const int64_t tile = json.Integer("token_tile", 1, kTokenTiles.back());
  if (std::find(kTokenTiles.begin(), kTokenTiles.end(), tile) == kTokenTiles.end()) {
    json.Fail("token_tile",
              absl::StrCat("is ", tile, "; accepted: ", absl::StrJoin(kTokenTiles, ", ")));
  }
  return static_cast<int>(tile);
}

absl::StatusOr<ManifestEntry> ParseLine(std::string_view line, int number) {
  const std::string what = absl::StrCat("line ", number);
  FUSEBOX_ASSIGN_OR_RETURN(StrictJson json, StrictJson::Parse(line, what));
  const int64_t version = json.Integer("manifest", 1, kMaxVersion);
  if (version != kManifestVersion) {
    json.Fail("manifest", absl::StrCat("is version ", version, "; this build reads version ",
                                       kManifestVersion, ": record again with it"));
  }
  ManifestEntry entry = {
      .profile = json.String("profile"),
      .op = {.problem = ReadProblem(json, "problem"), .token_tile = ReadTokenTile(json)}};
  FUSEBOX_RETURN_IF_ERROR(json.Finish());
  const absl::StatusOr<FfnProblem> problem = FfnProblem::Create(entry.op.problem);
  if (!problem.ok()) {  // also a decline: no op is made of such dims, so none was recorded
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": problem: ", problem.status().message()));
  }
  return entry;
}

}  // namespace

std::string ManifestLine(const ManifestEntry& entry) {
  const nlohmann::ordered_json json = {{"manifest", kManifestVersion},
                                       {"profile", entry.profile},
                                       {"problem", ProblemToJson(entry.op.problem)},
                                       {"token_tile", entry.op.token_tile}};
  return absl::StrCat(json.dump(), "\n");
}

absl::StatusOr<std::vector<ManifestEntry>> ParseManifest(std::string_view text) {
  std::vector<ManifestEntry> entries;
  std::set<ManifestEntry> seen;
  int number = 0;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    FUSEBOX_ASSIGN_OR_RETURN(ManifestEntry entry, ParseLine(line, number));
    if (seen.insert(entry).second) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace fusebox
