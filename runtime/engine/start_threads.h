// StartThreads starts threads as far as the machine lets it (a process limit, address space).
#ifndef FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
#define FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_

#include <system_error>
#include <thread>
#include <vector>

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

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_START_THREADS_H_
