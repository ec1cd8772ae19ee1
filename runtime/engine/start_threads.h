// StartThreads starts threads as far as the machine lets it (a process limit, address space), and
// CatchExceptions runs what a thread of ours does, which no exception may leave: it would end the
// process.
#ifndef FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
#define FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_

#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

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

// What `body` returns, an absl::Status or StatusOr; ResourceExhausted for bad_alloc, Internal for
// any other exception.
template <typename Body>
auto CatchExceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the host has no memory left for this");
  } catch (const std::exception& exception) {
    return absl::InternalError(
        absl::StrCat("an exception ended this work (", exception.what(), "); please report it"));
  } catch (...) {
    return absl::InternalError("an exception ended this work; please report it");
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
