// StartThreads starts threads as far as the machine lets it (a process limit, address space), and
// CatchExceptions runs what a thread of ours does, which no exception may leave: it would end the
// process.
#ifndef FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
#define FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_

#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace fusebox {

// Calls `start(index)`, which makes a std::thread, up to `count` times; fewer threads, or none,
// where the system gives no more.
template <typename Start>
std::vector<std::thread> StartThreads(int count, Start&& start) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));  // so that only a thread's start can throw
  try {
    for (int i = 0; i < count; ++i) threads.push_back(start(i));
  } catch (const std::system_error&) {
  }
  return threads;
}

// Without the message where there is no memory for it: an absl::Status of a code alone allocates
// nothing.
inline absl::Status FailureOf(absl::StatusCode code, std::string_view message) noexcept {
  try {
    return absl::Status(code, message);
  } catch (...) {
    return absl::Status(code, "");
  }
}

// What `body` returns, an absl::Status or StatusOr; ResourceExhausted for bad_alloc, Internal for
// any other exception.
template <typename Body>
auto CatchExceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return FailureOf(absl::StatusCode::kResourceExhausted, "the host has no memory left for this");
  } catch (...) {
    return FailureOf(absl::StatusCode::kInternal, "an exception ended this work; please report it");
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
