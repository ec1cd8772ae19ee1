// Fingerprint is a stable 128-bit digest (XXH3-128) of text; Fingerprinter builds one from labelled
// fields. Invariant: the same bytes give the same fingerprint on every machine, build and run. Not
// cryptographic. Values; no thread concerns.
#ifndef FUSEBOX_SRC_BASE_FINGERPRINT_H_
#define FUSEBOX_SRC_BASE_FINGERPRINT_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusebox {

struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  std::string ToHex() const;  // 32 lower-case hex digits, high half first
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const Fingerprint& f) {
    return H::combine(std::move(hash), f.high, f.low);
  }
};

Fingerprint FingerprintOf(std::string_view bytes);

// Collects length-prefixed fields, so that ("ab","c") and ("a","bc") differ.
class Fingerprinter {
 public:
  Fingerprinter& Add(std::string_view label, std::string_view value);
  Fingerprint Finish() const;

 private:
  std::string bytes_;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_BASE_FINGERPRINT_H_
