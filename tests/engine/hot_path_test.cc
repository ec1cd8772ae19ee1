// What a launch does on the CPU: no allocation, no lock, no environment read, and under 2 us. The C
// library's functions are replaced in this program by ones that count, so it is built without
// sanitizers, which replace them too.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "runtime/launch/kernel_launch.h"
#include "tests/engine/engine_fixture.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> num_allocations{0};
std::atomic<int> num_locks{0};
std::atomic<int> num_environment_reads{0};

void CountIn(std::atomic<int>& counter) {
  if (counting.load(std::memory_order_relaxed)) counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* malloc(size_t bytes);
void* calloc(size_t count, size_t bytes);
void* realloc(void* pointer, size_t bytes);
void* aligned_alloc(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  CountIn(num_allocations);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  CountIn(num_allocations);
  return __libc_calloc(count, bytes);
}
void* realloc(void* pointer, size_t bytes) {
  CountIn(num_allocations);
  return __libc_realloc(pointer, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  CountIn(num_allocations);
  return __libc_memalign(alignment, bytes);
}

// absl::Mutex takes no pthread mutex where it is free; hot_path_symbols.sh sees to those.
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  CountIn(num_locks);
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return lock(mutex);
}

char* getenv(const char* name) noexcept {
  CountIn(num_environment_reads);
  using Read = char* (*)(const char*);
  static const Read read = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "getenv"));
  return read(name);
}

}  // extern "C"

namespace fusebox {
namespace {

class HotPathTest : public EngineFixture {
 protected:
  void SetUp() override {
    SetUpReadyBinding();
    args_ = Args(op_, 5);
    driver_.recording = false;
  }

  fusebox_status LaunchCounted(const fusebox_ffn_args& args) {
    num_allocations = num_locks = num_environment_reads = 0;
    counting = true;
    const fusebox_status status = fusebox_ffn_launch(binding_.get(), &args, nullptr);
    counting = false;
    return status;
  }

  fusebox_ffn_args args_ = {};
};

TEST_F(HotPathTest, ThisProgramCountsAtAll) {
  counting = true;
  std::free(std::malloc(10));
  (void)std::getenv("HOME");
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  counting = false;
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(num_allocations, 1);
  EXPECT_EQ(num_environment_reads, 1);
  EXPECT_EQ(num_locks, 1);
}

TEST_F(HotPathTest, ALaunchAllocatesLocksAndReadsNothing) {
  for (const int tokens : {0, 1, 8, 9, 32}) {
    args_.tokens = tokens;
    ASSERT_EQ(LaunchCounted(args_), FUSEBOX_OK);
    EXPECT_EQ(num_allocations, 0) << tokens;
    EXPECT_EQ(num_locks, 0) << tokens;
    EXPECT_EQ(num_environment_reads, 0) << tokens;
  }
}

TEST_F(HotPathTest, NeitherDoesALaunchWithANormAndASum) {
  driver_.recording = true;
  SetUpReadyBinding([] {
    fusebox_ffn_desc desc = Desc();
    desc.norm = FUSEBOX_NORM_RMS;
    desc.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM;
    return desc;
  }());
  args_ = Args(op_, 5);
  driver_.recording = false;
  ASSERT_EQ(LaunchCounted(args_), FUSEBOX_OK);
  EXPECT_EQ(num_allocations + num_locks + num_environment_reads, 0);
}

TEST_F(HotPathTest, NeitherDoesALaunchOfAnOlderCaller) {
  args_.struct_size = offsetof(fusebox_ffn_args, residual_out);
  ASSERT_EQ(LaunchCounted(args_), FUSEBOX_OK);
  EXPECT_EQ(num_allocations + num_locks + num_environment_reads, 0);
}

TEST_F(HotPathTest, NeitherDoAnswersThatSendTheServerToItsOwnPath) {
  const OpPointer unprepared = MakeOp(engine_, [] {
    fusebox_ffn_desc desc = Desc();
    desc.hidden = 1024;
    return desc;
  }());
  const BindingPointer binding = Bind(unprepared);
  const auto launch = [&](const fusebox_ffn_args& args) {
    num_allocations = num_locks = num_environment_reads = 0;
    counting = true;
    const fusebox_status status = fusebox_ffn_launch(binding.get(), &args, nullptr);
    counting = false;
    return status;
  };
  EXPECT_EQ(launch(args_), FUSEBOX_NOT_READY);
  EXPECT_EQ(num_allocations + num_locks + num_environment_reads, 0);
  args_.tokens = 200;
  EXPECT_EQ(launch(args_), FUSEBOX_DECLINED);
  EXPECT_EQ(num_allocations + num_locks + num_environment_reads, 0);
  args_.tokens = -1;
  EXPECT_EQ(launch(args_), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_EQ(num_allocations + num_locks + num_environment_reads, 0);
}

// Nanoseconds of one call, the least over batches: what the code costs when nothing disturbs it.
template <typename Function>
double LeastNanoseconds(Function function) {
  constexpr int kBatches = 40;
  constexpr int kCalls = 2000;
  double least = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) function();
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    least = std::min(least, elapsed.count() / kCalls);
  }
  return least;
}

TEST_F(HotPathTest, ALaunchCostsUnderTwoMicrosecondsBeyondTheDriversOwn) {
  const LoadedKernel& kernel = *op_->ffn->Kernel(0);
  const FfnParams& params = binding_->ffn->Params(0);
  const DriverApi& api = op_->ffn->engine().driver();
  const double bare = LeastNanoseconds(
      [&] { (void)LaunchKernel(api, kernel, params, ProgrammaticOverlap::kAllowed, nullptr); });
  const double whole =
      LeastNanoseconds([&] { (void)fusebox_ffn_launch(binding_.get(), &args_, nullptr); });
  std::printf("launch: %.0f ns, of which the bare call %.0f ns (fake driver)\n", whole, bare);
  RecordProperty("launch_ns", std::to_string(whole - bare));
  EXPECT_LT(whole - bare, 2000);
}

}  // namespace
}  // namespace fusebox
