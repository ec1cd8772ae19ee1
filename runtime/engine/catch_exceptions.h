// CatchExceptions runs work that no exception may leave, a thread's or a C API entry's: it would
// end the process. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_
#define FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_

#include <new>
#include <string_view>

#include "absl/status/status.h"

namespace fusebox {

// Without the message where there is no memory for it: an absl::Status of a code alone allocates
// nothing.
inline absl::Status FailureOf(absl::StatusCode code, std::string_view message) noexcept {
  try {
    return absl::Status(code, message);
  } catch (...) {
    return absl::Status(code, "");
  }
}

// What `body` returns; else what `fail`, which throws nothing, makes of a code and a sentence:
// ResourceExhausted for bad_alloc, Internal for any other exception.
template <typename Body, typename Fail>
auto CatchExceptions(Body&& body, Fail&& fail) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(absl::StatusCode::kResourceExhausted, "the host has no memory left for this");
  } catch (...) {
    return fail(absl::StatusCode::kInternal, "an exception ended this work; please report it");
  }
}

// The same for a body that returns an absl::Status or StatusOr.
template <typename Body>
auto CatchExceptions(Body&& body) -> decltype(body()) {
  return CatchExceptions(body, FailureOf);
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_CATCH_EXCEPTIONS_H_
