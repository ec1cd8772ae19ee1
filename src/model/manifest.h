// A manifest lists what engines were asked for, so that `fusebox warm --manifest` makes exactly
// that: each op with a token tile and the GPU profile it was planned for, one JSON object a line.
// Only what decides a kernel is in it: weights in one matrix or two and max_tokens do not.
// Invariant: a line that ManifestLine wrote is read back as the same entry. Pure functions.
#ifndef FUSEBOX_SRC_MODEL_MANIFEST_H_
#define FUSEBOX_SRC_MODEL_MANIFEST_H_

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/model/model_ops.h"

namespace fusebox {

constexpr int kManifestVersion = 1;  // of the lines; each names it, as files are appended to

struct ManifestEntry {
  std::string profile;  // "h200-sxm"
  TiledOp op;
  friend auto operator<=>(const ManifestEntry&, const ManifestEntry&) = default;
};

// {"manifest":1,"profile":"h200-sxm","problem":{...},"token_tile":8} and a newline.
std::string ManifestLine(const ManifestEntry& entry);

// Every line that ManifestLine writes begins so, whatever its version: what tells a manifest from
// other files.
constexpr std::string_view kManifestBeginning = "{\"manifest\":";

// Each entry once, in the order of the lines; empty lines are passed over. InvalidArgument with the
// line's number, the field and what is accepted.
absl::StatusOr<std::vector<ManifestEntry>> ParseManifest(std::string_view text);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_MANIFEST_H_
