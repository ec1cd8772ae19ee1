#include "runtime/compile/nvrtc_api.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

// Newest first: a newer NVRTC compiles for every driver of its major version.
constexpr const char* kFileNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// The pip wheels: nvidia-cuda-nvrtc (CUDA 13) and nvidia-cuda-nvrtc-cu12.
constexpr const char* kWheelFolders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

bool IsDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void AddFolder(const fs::path& folder, std::vector<std::string>* candidates) {
  for (const char* name : kFileNames) {
    if (Exists(folder / name)) candidates->push_back((folder / name).string());
  }
}

// <prefix>/lib/python3*/{site,dist}-packages, newest Python first.
std::vector<fs::path> PackageFolders(const std::string& prefix) {
  std::vector<fs::path> pythons;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(prefix) / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (absl::StartsWith(it->path().filename().string(), "python3")) pythons.push_back(it->path());
  }
  std::sort(pythons.begin(), pythons.end(), std::greater<>());
  std::vector<fs::path> folders;
  for (const fs::path& python : pythons) {
    folders.push_back(python / "site-packages");
    folders.push_back(python / "dist-packages");
  }
  return folders;
}

// Empty when `candidate` was opened into `api`, else the reason.
std::string Open(const std::string& candidate, NvrtcApi* api) {
  // The loader would wait for a pipe's writer.
  if (candidate.find('/') != std::string::npos && Exists(candidate) && !IsFile(candidate)) {
    return "is no regular file";
  }
  void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "is not there or cannot be opened";
#define FUSEBOX_SYMBOL_TEXT(symbol) #symbol
#define FUSEBOX_NVRTC_FUNCTION(member, symbol)                                              \
  api->member =                                                                             \
      reinterpret_cast<decltype(api->member)>(dlsym(library, FUSEBOX_SYMBOL_TEXT(symbol))); \
  if (api->member == nullptr) return "has no " FUSEBOX_SYMBOL_TEXT(symbol);
#include "runtime/compile/nvrtc_functions.h"
  Dl_info where = {};
  if (dladdr(reinterpret_cast<const void*>(api->Version), &where) != 0 &&
      where.dli_fname != nullptr) {
    api->path = where.dli_fname;
  }
  return std::string(CheckNvrtcFit(api).message());
}

}  // namespace

std::string NvrtcApi::VersionString() const { return absl::StrCat(major, ".", minor); }

absl::Status CheckNvrtcFit(NvrtcApi* api) {
  const auto unfit = [](const auto&... parts) {
    return absl::FailedPreconditionError(absl::StrCat(parts...));
  };
  if (api->Version(&api->major, &api->minor) != NVRTC_SUCCESS) return unfit("nvrtcVersion failed");
  if (api->major < kMinNvrtcMajor) {
    return unfit("is version ", api->VersionString(), ", ", kMinNvrtcMajor,
                 ".0 or newer is needed");
  }
  int count = 0;
  if (api->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0) {
    return unfit("nvrtcGetNumSupportedArchs failed");
  }
  std::vector<int> architectures(static_cast<size_t>(count));
  if (api->GetSupportedArchs(architectures.data()) != NVRTC_SUCCESS) {
    return unfit("nvrtcGetSupportedArchs failed");
  }
  if (std::find(architectures.begin(), architectures.end(), 90) == architectures.end()) {
    return unfit("version ", api->VersionString(), " does not compile for sm_90");
  }
  return absl::OkStatus();
}

std::vector<std::string> NvrtcCandidates(const ToolkitPlaces& places,
                                         const std::string& explicit_path) {
  std::vector<std::string> candidates;
  if (!explicit_path.empty()) {
    if (IsDirectory(explicit_path)) {
      AddFolder(explicit_path, &candidates);
    } else {
      candidates.push_back(explicit_path);
    }
    return candidates;
  }
  for (const char* name : kFileNames) candidates.emplace_back(name);
  for (const std::string& home : places.cuda_homes) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      AddFolder(fs::path(home) / folder, &candidates);
    }
  }
  for (const std::string& prefix : places.python_prefixes) {
    for (const fs::path& packages : PackageFolders(prefix)) {
      for (const char* folder : kWheelFolders) AddFolder(packages / folder, &candidates);
    }
  }
  return candidates;
}

absl::Status NoUsableNvrtc(const ToolkitPlaces& places, const std::string& explicit_path,
                           const std::vector<std::string>& tried) {
  if (!explicit_path.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nvrtc: FUSEBOX_NVRTC_PATH=", explicit_path, " leads to no usable NVRTC (",
                     tried.empty() ? "the folder holds no libnvrtc.so" : absl::StrJoin(tried, "; "),
                     "); name libnvrtc.so.12 or .13 or its folder, or unset the knob to search the "
                     "usual places"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "nvrtc: none was found (", absl::StrJoin(tried, "; "), "; and no wheel below ",
      absl::StrJoin(places.python_prefixes, ", "),
      "); pip install nvidia-cuda-nvrtc, set FUSEBOX_NVRTC_PATH, or warm the cache elsewhere with "
      "`fusebox warm`"));
}

absl::StatusOr<std::shared_ptr<const NvrtcApi>> LoadNvrtc(const ToolkitPlaces& places,
                                                          const std::string& explicit_path) {
  std::vector<std::string> tried;
  for (const std::string& candidate : NvrtcCandidates(places, explicit_path)) {
    auto api = std::make_shared<NvrtcApi>();
    const std::string reason = Open(candidate, api.get());
    if (reason.empty()) return api;
    tried.push_back(absl::StrCat(candidate, " ", reason));
  }
  return NoUsableNvrtc(places, explicit_path, tried);
}

}  // namespace fusebox
