#include "runtime/engine/last_error.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/driver/cuda_status.h"

namespace fusebox {
namespace {

constexpr size_t kMessageBytes = 2048;  // holds a compile failure with the head of its log

thread_local char last_message[kMessageBytes];

}  // namespace

fusebox_status CodeOf(const absl::Status& status) {
  if (status.ok()) return FUSEBOX_OK;
  if (IsCudaFailure(status)) return FUSEBOX_CUDA_FAILED;
  if (IsCompileFailure(status)) return FUSEBOX_COMPILE_FAILED;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return FUSEBOX_INVALID_ARGUMENT;
    case absl::StatusCode::kUnimplemented:
      return FUSEBOX_DECLINED;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return FUSEBOX_NOT_READY;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kDataLoss:
      return FUSEBOX_UNAVAILABLE;
    case absl::StatusCode::kResourceExhausted:
      return FUSEBOX_OUT_OF_MEMORY;
    default:
      return FUSEBOX_INTERNAL;
  }
}

fusebox_status RecordFailure(fusebox_status code, std::string_view message) {
  const size_t bytes = std::min(message.size(), kMessageBytes - 1);
  std::memcpy(last_message, message.data(), bytes);
  last_message[bytes] = '\0';
  return code;
}

fusebox_status RecordFailureF(fusebox_status code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_message, kMessageBytes, format, arguments);
  va_end(arguments);
  return code;
}

fusebox_status Record(const absl::Status& status) {
  return status.ok() ? FUSEBOX_OK : RecordFailure(CodeOf(status), status.message());
}

const char* LastErrorMessage() { return last_message; }

}  // namespace fusebox
