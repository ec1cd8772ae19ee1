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

// What the one who reads the sentence can do.
std::string_view RemedyFor(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free GPU memory (a smaller KV cache) and try again";
    case CUDA_ERROR_DEINITIALIZED:
      return "the process is ending; destroy engines before main returns";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
      return "a stream capture is under way; prepare before it, or on a thread that captures "
             "nothing";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return "a kernel of this process failed before, and its context serves no more: restart the "
             "process; compute-sanitizer names the kernel";
    default:
      return "run your own path; `fusebox doctor` examines driver and GPU";
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
                                                   text == nullptr ? "no description" : text, "; ",
                                                   RemedyFor(result)));
  if (status.code() == absl::StatusCode::kUnknown) {
    status.SetPayload(kCudaFailurePayload, absl::Cord(absl::StrCat(static_cast<int>(result))));
  }
  return status;
}

bool IsCudaFailure(const absl::Status& status) {
  return status.GetPayload(kCudaFailurePayload).has_value();
}

}  // namespace fusebox
