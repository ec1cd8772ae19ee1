#include "src/base/fingerprint.h"

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fusebox {

std::string Fingerprint::ToHex() const { return absl::StrFormat("%016x%016x", high, low); }

Fingerprint FingerprintOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

Fingerprinter& Fingerprinter::Add(std::string_view label, std::string_view value) {
  absl::StrAppend(&bytes_, label.size(), ":", label, value.size(), ":", value, ";");
  return *this;
}

Fingerprint Fingerprinter::Finish() const { return FingerprintOf(bytes_); }

}  // namespace fusebox
