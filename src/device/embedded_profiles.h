// EmbeddedProfiles gives the GPU profiles of src/device/profiles/ as they were when the library
// was built. Invariant: sorted by path, each path spelled from the repository root.
// Thread-safe: constants only.
#ifndef FUSEBOX_SRC_DEVICE_EMBEDDED_PROFILES_H_
#define FUSEBOX_SRC_DEVICE_EMBEDDED_PROFILES_H_

#include <span>
#include <string_view>

namespace fusebox {

struct EmbeddedProfile {
  std::string_view path;  // "src/device/profiles/h200-sxm.json"
  std::string_view text;  // the file, byte for byte; NUL-terminated after its last byte
};

// Defined in a generated file; see cmake/embed_text.cmake.
std::span<const EmbeddedProfile> EmbeddedProfiles();

}  // namespace fusebox

#endif  // FUSEBOX_SRC_DEVICE_EMBEDDED_PROFILES_H_
