#include "runtime/driver/cuda_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace fusebox {
namespace {

constexpr char kCudaFailurePayload[] = "fusebox/cuda_result";

absl::StatusCode CodeOf(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

absl::Status CudaStatus(const DriverApi& api, CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName == nullptr || api.GetErrorName(result, &name) != CUDA_SUCCESS)
    name = nullptr;
  if (api.GetErrorString == nullptr || api.GetErrorString(result, &text) != CUDA_SUCCESS) {
    text = nullptr;
  }
  absl::Status status(CodeOf(result), absl::StrCat(call, " failed with ", static_cast<int>(result),
                                                   " ", name == nullptr ? "(unnamed)" : name, ": ",
                                                   text == nullptr ? "no description" : text));
  if (status.code() == absl::StatusCode::kUnknown) {
    status.SetPayload(kCudaFailurePayload, absl::Cord(absl::StrCat(static_cast<int>(result))));
  }
  return status;
}

bool IsCudaFailure(const absl::Status& status) {
  return status.GetPayload(kCudaFailurePayload).has_value();
}

}  // namespace fusebox
