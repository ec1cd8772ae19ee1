#include "runtime/engine/compile_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "absl/synchronization/notification.h"

namespace {
thread_local bool refuse_memory = false;  // to this thread
}  // namespace

void* operator new(size_t bytes) {
  void* const memory = refuse_memory ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace fusebox {
namespace {

// While it lives no thread can be started: none has the address space for such a stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&previous_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 46);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&previous_);
    pthread_attr_destroy(&previous_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t previous_;
};

TEST(CompilePoolTest, ATaskThatThrowsEndsAloneAndIsReported) {
  std::atomic<int> num_memory = 0;
  std::atomic<int> num_internal = 0;
  std::atomic<bool> ran_after = false;
  CompilePool pool(
      1, [] {},
      [&](const absl::Status& status) {
        num_memory += absl::IsResourceExhausted(status);
        num_internal += absl::IsInternal(status);
      });
  pool.Enqueue([] { throw std::bad_alloc(); });
  pool.Enqueue([] { throw std::runtime_error("thrown"); });
  pool.Enqueue([] { throw 7; });
  pool.Enqueue([&] { ran_after = true; });
  EXPECT_TRUE(pool.Wait(absl::Seconds(30)).ok());
  EXPECT_TRUE(ran_after);
  EXPECT_EQ(num_memory, 1);
  EXPECT_EQ(num_internal, 2);
}

TEST(CompilePoolTest, ATaskThatThrowsIsReportedWithoutMemoryForTheSentence) {
  std::atomic<int> num_memory = 0;
  CompilePool pool(
      1, [] {},
      [&](const absl::Status& status) {
        refuse_memory = false;
        num_memory += absl::IsResourceExhausted(status);
      });
  pool.Enqueue([] {
    refuse_memory = true;
    throw std::bad_alloc();
  });
  EXPECT_TRUE(pool.Wait(absl::Seconds(30)).ok());
  EXPECT_EQ(num_memory, 1);
}

TEST(CompilePoolTest, AnIdleCallThatThrowsIsReportedAndCalledAgain) {
  std::atomic<int> num_failures = 0;
  absl::Notification second;
  CompilePool pool(
      1, [] { throw std::bad_alloc(); },
      [&](const absl::Status&) {
        if (++num_failures == 2) second.Notify();
      });
  pool.Start();
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(CompilePoolTest, SaysThatNoThreadStartsAndDoesTheWorkOnceOneDoes) {
  std::atomic<bool> ran = false;
  CompilePool pool(
      4, [] {}, [](const absl::Status&) {});
  {
    const NoThreads none;
    pool.Enqueue([&] { ran = true; });
    const absl::Status status = pool.Wait(absl::InfiniteDuration());
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("starts no thread"));
  }
  EXPECT_TRUE(pool.Wait(absl::Seconds(30)).ok());
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace fusebox
