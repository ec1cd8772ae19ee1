// Memory that runs out on a background thread, where an exception ends a prepare before it can
// report anything: the tile must not stay queued for ever. This program's operator new fails on
// demand.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "tests/engine/engine_fixture.h"

namespace {

std::atomic<bool> memory_is_short{false};
thread_local bool is_background = false;

}  // namespace

// Not inlined: the compiler would see malloc's memory go to delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (is_background && memory_is_short) throw std::bad_alloc();
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fusebox {
namespace {

CUresult RunOutOfMemory(CUlibrary*, const void*, CUjit_option*, void**, unsigned int,
                        CUlibraryOption*, void**, unsigned int) {
  is_background = true;
  memory_is_short = true;
  return CUDA_ERROR_UNKNOWN;
}

using ShortMemoryTest = EngineFixture;

TEST_F(ShortMemoryTest, ThisProgramRunsShortAtAll) {
  bool threw = false;
  is_background = memory_is_short = true;
  try {
    ::operator delete(::operator new(8));
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  is_background = memory_is_short = false;
  EXPECT_TRUE(threw);
}

TEST_F(ShortMemoryTest, APrepareThatCannotEvenReportItsFailureIsTriedAgain) {
  auto api = std::make_shared<DriverApi>(*driver_.Api());
  const auto load = api->LibraryLoadData;
  api->LibraryLoadData = RunOutOfMemory;
  auto engine = Engine::Create(Settings(), [&] { return api; });
  ASSERT_TRUE(engine.ok()) << engine.status();
  engine_.reset(new fusebox_engine{*std::move(engine)});
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_wait(engine_.get(), 30000), FUSEBOX_OK);
  EXPECT_TRUE(memory_is_short) << "the load was not asked for";
  memory_is_short = false;
  EXPECT_GE(Stats(engine_).kernels_failed, 1u);

  api->LibraryLoadData = load;
  ASSERT_EQ(Prepare(op_, {8}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_wait(engine_.get(), 30000), FUSEBOX_OK);
  EXPECT_TRUE(IsReady(op_, 8));
}

}  // namespace
}  // namespace fusebox
