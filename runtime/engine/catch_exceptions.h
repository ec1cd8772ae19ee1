// CatchExceptions runs what no exception may leave: a thread's work, which would end the process,
// or a flight that others wait for. DescribeException says what an exception is to the caller.
#ifndef FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_
#define FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_

#include <new>
#include <string_view>

#include "absl/status/status.h"

namespace fusebox {

struct ExceptionReport {
  absl::StatusCode code;
  std::string_view sentence;  // static
};

// Of the exception that is being handled; allocates nothing.
inline ExceptionReport DescribeException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {absl::StatusCode::kResourceExhausted,
            "the host has no memory left for this; free some and try again"};
  } catch (...) {
    return {absl::StatusCode::kInternal, "an exception ended this; please report the call"};
  }
}

// Without the message where there is no memory for it: an absl::Status of a code alone allocates
// nothing.
inline absl::Status FailureOf(const ExceptionReport& report) noexcept {
  try {
    return absl::Status(report.code, report.sentence);
  } catch (...) {
    return absl::Status(report.code, "");
  }
}

// What `body` returns, an absl::Status or StatusOr; ResourceExhausted for bad_alloc, Internal for
// any other exception.
template <typename Body>
auto CatchExceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return FailureOf(DescribeException());
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_
