#include "runtime/engine/compile_pool.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/start_threads.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr absl::Duration kIdlePeriod = absl::Milliseconds(100);

// While it lives, threads started by this one are born with every signal blocked.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t previous_;
};

}  // namespace

CompilePool::CompilePool(int num_threads, std::function<void()> on_idle,
                         std::function<void(const absl::Status&)> on_failure)
    : num_threads_(num_threads), on_idle_(std::move(on_idle)), on_failure_(std::move(on_failure)) {}

CompilePool::~CompilePool() { Stop(); }

void CompilePool::Start() {
  absl::MutexLock lock(&mutex_);
  if (stopped_ || !threads_.empty()) return;
  const SignalBlock block;
  threads_ = StartThreads(num_threads_, [this](int index) {
    return std::thread([this, watches = index == 0] { Work(watches); });
  });
}

void CompilePool::Enqueue(std::function<void()> task) {
  Start();
  absl::MutexLock lock(&mutex_);
  if (!stopped_) queue_.push_back(std::move(task));
}

absl::Status CompilePool::Wait(absl::Duration timeout) {
  FUSEBOX_RETURN_IF_ERROR(CheckServed());
  absl::MutexLock lock(&mutex_);
  if (mutex_.AwaitWithTimeout(absl::Condition(this, &CompilePool::IsIdle), timeout)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "background work was not done after ", absl::FormatDuration(timeout),
      "; wait longer, or freeze the engine and run your own path for what is missing"));
}

absl::Status CompilePool::CheckServed() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_ || queue_.empty()) return absl::OkStatus();
  }
  Start();
  absl::MutexLock lock(&mutex_);
  if (stopped_ || !threads_.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "threads: the system starts no thread for background work (a limit of processes, ulimit -u "
      "or the container's pids, or of memory is reached); raise it, or prepare with "
      "FUSEBOX_PREPARE_BLOCK");
}

void CompilePool::Stop() {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>>
      dropped;  // destroyed after the lock is gone: a task may own an op
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    dropped.swap(queue_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void CompilePool::Work(bool watches) {
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(this, &CompilePool::HasWork),
                              watches ? kIdlePeriod : absl::InfiniteDuration());
      if (stopped_) return;
      if (!queue_.empty()) {
        task = std::move(queue_.front());
        queue_.pop_front();
        ++num_running_;
      }
    }
    if (task == nullptr) {
      if (watches) RunGuarded(on_idle_);
      continue;
    }
    RunGuarded(task);
    task = nullptr;
    absl::MutexLock lock(&mutex_);
    --num_running_;
  }
}

// What a task does reports its own failures, also exceptions; this is for one that is thrown while
// it reports (memory is still short).
void CompilePool::RunGuarded(const std::function<void()>& task) {
  const absl::Status status = CatchExceptions([&]() -> absl::Status {
    task();
    return absl::OkStatus();
  });
  if (!status.ok()) on_failure_(status);
}

}  // namespace fusebox
