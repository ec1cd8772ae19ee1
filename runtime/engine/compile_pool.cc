#include "runtime/engine/compile_pool.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

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

CompilePool::CompilePool(int num_threads, std::function<void()> on_idle)
    : num_threads_(num_threads), on_idle_(std::move(on_idle)) {}

CompilePool::~CompilePool() { Stop(); }

void CompilePool::Start() {
  absl::MutexLock lock(&mutex_);
  if (stopped_ || !threads_.empty()) return;
  const SignalBlock block;
  for (int i = 0; i < num_threads_; ++i) {
    threads_.emplace_back([this, watches = i == 0] { Work(watches); });
  }
}

void CompilePool::Enqueue(std::function<void()> task) {
  Start();
  absl::MutexLock lock(&mutex_);
  if (!stopped_) queue_.push_back(std::move(task));
}

bool CompilePool::Wait(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &CompilePool::IsIdle), timeout);
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
      if (watches) on_idle_();
      continue;
    }
    task();
    task = nullptr;
    absl::MutexLock lock(&mutex_);
    --num_running_;
  }
}

}  // namespace fusebox
