// CudaStatus turns a CUresult into a Status: the only place that does. The original code stays
// readable from the Status, so that the C API can answer CUDA_FAILED for a failed call and
// UNAVAILABLE for a missing or unfit machine. Thread-safe.
#ifndef FUSEBOX_RUNTIME_DRIVER_CUDA_STATUS_H_
#define FUSEBOX_RUNTIME_DRIVER_CUDA_STATUS_H_

#include <cuda.h>

#include <string_view>

#include "absl/status/status.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

// The message names call, result and remedy. OK for CUDA_SUCCESS; ResourceExhausted when memory ran
// out; FailedPrecondition when the machine has no GPU or its driver cannot run what was asked; else
// Unknown, marked as a failed call (IsCudaFailure).
absl::Status CudaStatus(const DriverApi& api, CUresult result, std::string_view call);

// True for a Status of a driver call that failed on a machine that should have carried it out.
bool IsCudaFailure(const absl::Status& status);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_DRIVER_CUDA_STATUS_H_
