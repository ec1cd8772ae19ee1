// DriverApi is libcuda as a table of functions: filled by dlopen, or by a test with functions of
// its own. Invariant: in a table from LoadDriver every member is set and cuInit has succeeded.
// Immutable after it is filled; thread-safe. libcuda is never closed: other users of it share its
// state.
#ifndef FUSEBOX_RUNTIME_DRIVER_DRIVER_API_H_
#define FUSEBOX_RUNTIME_DRIVER_DRIVER_API_H_

#include <cuda.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace fusebox {

struct DriverApi {
#define FUSEBOX_DRIVER_FUNCTION(member, symbol) decltype(&::symbol) member = nullptr;
#include "runtime/driver/driver_functions.h"
  // Of its own type: the plain name is a macro for another version since CUDA 12.8.
  CUresult(CUDAAPI* EventElapsedTime)(float* milliseconds, CUevent start, CUevent end) = nullptr;

  int version = 0;  // cuDriverGetVersion: 13000 is CUDA 13.0
};

constexpr int kMinDriverVersion = 12000;  // CUDA 12.0: cuLibraryLoadData, cuTensorMapEncodeTiled

// FailedPrecondition with a sentence: no libcuda, too old, or cuInit failed (no GPU).
absl::StatusOr<std::shared_ptr<const DriverApi>> LoadDriver();
// The same from a library of that name, for tests.
absl::StatusOr<std::shared_ptr<const DriverApi>> LoadDriverFrom(const std::string& library_name);

// cuInit, and which version it is: what is left to do for a table whose functions are set.
absl::Status InitDriver(DriverApi* api);

std::string CudaVersionString(int version);  // 13000 -> "13.0"

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_DRIVER_DRIVER_API_H_
