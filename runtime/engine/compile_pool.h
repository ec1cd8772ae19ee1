// CompilePool runs background compiles on a few threads of its own, started at the first need.
// Invariant: no signal is delivered to its threads; Stop returns when they are gone. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_
#define FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fusebox {

class CompilePool {
 public:
  // `on_idle` is called by one idle thread now and then (kIdlePeriod), without a lock held.
  CompilePool(int num_threads, std::function<void()> on_idle);
  ~CompilePool();

  void Start();                              // also called by Enqueue
  void Enqueue(std::function<void()> task);  // dropped after Stop
  // True when nothing is queued or running; false when `timeout` passed before that.
  bool Wait(absl::Duration timeout);
  // Waits for running tasks, drops queued ones, joins. May be called again.
  void Stop();

 private:
  void Work(bool watches);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || !queue_.empty(); }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queue_.empty() && num_running_ == 0;
  }

  const int num_threads_;
  const std::function<void()> on_idle_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_
