#include "src/source/kernel_source.h"

#include "absl/strings/str_cat.h"

namespace fusebox {
namespace {

// Raised when the kernel's parameters (kernels_templates/abi/kernel_params.h) or the meaning of the
// launch shape change without a change in any text below.
constexpr int kSourceSchemaVersion = 3;

}  // namespace

Fingerprint KernelSource::Digest() const {
  Fingerprinter digest;
  digest.Add("schema", absl::StrCat(kSourceSchemaVersion));
  digest.Add("architecture", architecture).Add("entry", entry).Add("text", text);
  for (const std::string& flag : flags) digest.Add("flag", flag);
  for (const auto& [path, content] : headers.files()) digest.Add(path, content);
  return digest.Finish();
}

}  // namespace fusebox
