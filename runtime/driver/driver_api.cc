#include "runtime/driver/driver_api.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/driver/cuda_status.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

template <typename Function>
bool Resolve(void* library, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, symbol));
  return *function != nullptr;
}

// Null when all were found, else the first missing symbol.
const char* ResolveAll(void* library, DriverApi* api) {
#define FUSEBOX_SYMBOL_TEXT(symbol) #symbol
#define FUSEBOX_DRIVER_FUNCTION(member, symbol)                     \
  if (!Resolve(library, FUSEBOX_SYMBOL_TEXT(symbol), &api->member)) \
    return FUSEBOX_SYMBOL_TEXT(symbol);
#include "runtime/driver/driver_functions.h"
  if (!Resolve(library, "cuEventElapsedTime", &api->EventElapsedTime)) return "cuEventElapsedTime";
  return nullptr;
}

}  // namespace

std::string CudaVersionString(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::StatusOr<std::shared_ptr<const DriverApi>> LoadDriver() {
  return LoadDriverFrom("libcuda.so.1");
}

absl::StatusOr<std::shared_ptr<const DriverApi>> LoadDriverFrom(const std::string& library_name) {
  void* library = dlopen(library_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "driver: ", library_name, " cannot be opened (", dlerror(),
        "); install the NVIDIA driver; without one Fusebox only plans and compiles, for "
        "a GPU profile that is named"));
  }
  auto api = std::make_shared<DriverApi>();
  const char* missing = ResolveAll(library, api.get());
  if (missing != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("driver: ", library_name, " has no ", missing, "; a driver for CUDA ",
                     CudaVersionString(kMinDriverVersion), " or newer is needed"));
  }
  FUSEBOX_RETURN_IF_ERROR(InitDriver(api.get()));
  return api;
}

absl::Status InitDriver(DriverApi* api) {
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(*api, api->Init(0), "cuInit"));
  return CudaStatus(*api, api->DriverGetVersion(&api->version), "cuDriverGetVersion");
}

}  // namespace fusebox
