// Manifests as `fusebox warm --manifest` takes them: what engines wrote with FUSEBOX_RECORD.
// Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_WARM_MANIFEST_H_
#define FUSEBOX_RUNTIME_TOOLS_WARM_MANIFEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/model/manifest.h"

namespace fusebox {

// One manifest file, and what it lists: at least one entry.
struct ManifestRequest {
  std::string file;
  std::vector<ManifestEntry> entries;
};

// In the order given, each file once. NotFound or InvalidArgument, with the file's name and the
// line, for one that cannot be read, is no manifest or lists nothing.
absl::StatusOr<std::vector<ManifestRequest>> ReadManifests(const std::vector<std::string>& files);

// The profile that all entries were recorded for. InvalidArgument, with their names, where there
// are several. REQUIRES: there is a manifest.
absl::StatusOr<std::string> ProfileOf(const std::vector<ManifestRequest>& manifests);

// One line about a manifest: "recorded.jsonl: 6 ops and token tiles, recorded on h200-sxm".
std::string DescribeManifest(const ManifestRequest& manifest);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_WARM_MANIFEST_H_
