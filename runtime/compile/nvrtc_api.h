// NvrtcApi is libnvrtc as a table of functions, found by dlopen in the places where installations
// put it. Invariant: a table from LoadNvrtc is complete, new enough, and compiles for sm_90a.
// Immutable; thread-safe. libnvrtc is never closed: it keeps thread-local state that does not
// survive that.
#ifndef FUSEBOX_RUNTIME_COMPILE_NVRTC_API_H_
#define FUSEBOX_RUNTIME_COMPILE_NVRTC_API_H_

#include <nvrtc.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/config/config.h"

namespace fusebox {

struct NvrtcApi {
#define FUSEBOX_NVRTC_FUNCTION(member, symbol) decltype(&::symbol) member = nullptr;
#include "runtime/compile/nvrtc_functions.h"

  int major = 0;
  int minor = 0;
  std::string path;  // the file it came from, as the loader tells it

  std::string VersionString() const;
};

constexpr int kMinNvrtcMajor = 12;  // sm_90a, C++20, tensor maps as kernel parameters

// What to hand to dlopen, in order. An explicit path (a file, or a folder that holds one) excludes
// every other place. Else: the loader's own search; lib64 and lib below the CUDA homes; the wheels'
// folders below the Python prefixes.
std::vector<std::string> NvrtcCandidates(const ToolkitPlaces& places,
                                         const std::string& explicit_path);

// Fills in the version. FailedPrecondition with what makes a complete table unfit.
absl::Status CheckNvrtcFit(NvrtcApi* api);

// FailedPrecondition with what was `tried`, each with its reason, and what to do about it.
absl::Status NoUsableNvrtc(const ToolkitPlaces& places, const std::string& explicit_path,
                           const std::vector<std::string>& tried);

// FailedPrecondition that lists what was tried and why each did not do.
absl::StatusOr<std::shared_ptr<const NvrtcApi>> LoadNvrtc(const ToolkitPlaces& places,
                                                          const std::string& explicit_path);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_COMPILE_NVRTC_API_H_
