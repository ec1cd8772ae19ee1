// CompilePool runs background compiles on a few threads of its own, started at the first need.
// Invariant: no signal is delivered to its threads; Stop returns when they are gone; an exception
// ends the task that threw it, not the process. Fewer threads, where the system gives no more, do
// the same work; with none the tasks wait for the next try. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_
#define FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace fusebox {

class CompilePool {
 public:
  // `on_idle` is called by one idle thread now and then (kIdlePeriod), without a lock held.
  // `on_failure` is told of a task or of `on_idle` that an exception ended; it throws nothing.
  CompilePool(int num_threads, std::function<void()> on_idle,
              std::function<void(const absl::Status&)> on_failure);
  ~CompilePool();

  void Start();                              // also called by Enqueue
  void Enqueue(std::function<void()> task);  // dropped after Stop
  // OK when nothing is queued or running; DeadlineExceeded when `timeout` passed before that;
  // ResourceExhausted when work is queued and no thread can be started for it.
  absl::Status Wait(absl::Duration timeout);
  // ResourceExhausted while work is queued and no thread is there to do it.
  absl::Status CheckServed();
  // Waits for running tasks, drops queued ones, joins. May be called again.
  void Stop();

 private:
  void Work(bool watches);
  void RunGuarded(const std::function<void()>& task);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || !queue_.empty(); }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queue_.empty() && num_running_ == 0;
  }

  const int num_threads_;
  const std::function<void()> on_idle_;
  const std::function<void(const absl::Status&)> on_failure_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_COMPILE_POOL_H_
