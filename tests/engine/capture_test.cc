// Stream capture on one thread while others prepare, and what freeze promises. The fake driver
// refuses, as the real one does, what may synchronise while a capture is under way, and breaks the
// capture; only threads in relaxed mode are let through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

class CaptureTest : public EngineFixture {
 protected:
  void SetUp() override {
    engine_ =
        MakeEngine([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; });
    op_ = MakeOp(engine_);
    WarmCache(op_);
    binding_ = Bind(op_);
    args_ = Args(op_, 5);
  }

  void BeginCapture(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_EQ(driver_.streams.BeginCapture(kStream, mode), CUDA_SUCCESS);
  }
  // Whether a graph came out of it.
  CUresult EndCapture() {
    CUgraph graph = nullptr;
    const CUresult result = driver_.streams.EndCapture(kStream, &graph);
    if (graph != nullptr) {
      EXPECT_EQ(driver_.streams.Release(graph), CUDA_SUCCESS);
    }
    return result;
  }
  fusebox_status Launch(int tokens) {
    args_.tokens = tokens;
    return fusebox_ffn_launch(binding_.get(), &args_, kStream);
  }
  void AwaitReady(int tokens) {
    for (int i = 0; i < 400 && !IsReady(op_, tokens); ++i) absl::SleepFor(absl::Milliseconds(25));
    ASSERT_TRUE(IsReady(op_, tokens));
  }

  static inline CUstream const kStream = reinterpret_cast<CUstream>(0x77);
  fusebox_ffn_args args_ = {};
};

TEST_F(CaptureTest, TheFakeDriverForbidsWhatTheRealOneForbids) {
  const auto api = driver_.Api();
  const auto load = [&] {
    CUlibrary library = nullptr;
    const CUresult result =
        api->LibraryLoadData(&library, "some cubin", nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(api->LibraryUnload(library), CUDA_SUCCESS);
    }
    return result;
  };
  for (const bool on_another_thread : {false, true}) {
    BeginCapture();
    CUresult loaded = CUDA_SUCCESS;
    if (on_another_thread) {
      std::thread([&] { loaded = load(); }).join();
    } else {
      loaded = load();
    }
    EXPECT_EQ(loaded, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(EndCapture(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  BeginCapture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  std::thread([&] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ASSERT_EQ(api->ThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(load(), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, AReadyKernelIsCaptured) {
  ASSERT_EQ(Prepare(op_, {5}), FUSEBOX_OK);
  BeginCapture();
  EXPECT_EQ(Launch(5), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
  EXPECT_TRUE(driver_.launches.back().captured);
}

TEST_F(CaptureTest, ALaunchUnderCaptureLoadsNothingAndBreaksNothing) {
  const size_t num_loads = driver_.loaded_cubins.size();
  BeginCapture();
  EXPECT_EQ(Launch(5), FUSEBOX_NOT_READY);
  EXPECT_EQ(Launch(0), FUSEBOX_OK);
  EXPECT_EQ(Launch(200), FUSEBOX_DECLINED);
  EXPECT_EQ(driver_.loaded_cubins.size(), num_loads);
  EXPECT_EQ(driver_.num_launches, 0);
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, WhatALaunchFoundMissingIsLoadedBesideTheCapture) {
  BeginCapture();
  EXPECT_EQ(Launch(5), FUSEBOX_NOT_READY);
  AwaitReady(5);
  EXPECT_EQ(Launch(5), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.num_relaxed_loads, 1);
}

TEST_F(CaptureTest, AnotherThreadMayPrepareWhileThisOneCaptures) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const OpPointer op = MakeOp(engine_);
    BeginCapture(mode);
    std::thread([&] {
      EXPECT_EQ(Prepare(op, {8, 16}), FUSEBOX_OK) << fusebox_last_error_message();
    }).join();
    ASSERT_EQ(Prepare(op, {32}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
    ASSERT_EQ(fusebox_engine_wait(engine_.get(), 20000), FUSEBOX_OK);
    EXPECT_EQ(EndCapture(), CUDA_SUCCESS) << mode;
    EXPECT_TRUE(IsReady(op, 32));
  }
}

TEST_F(CaptureTest, EvenAPrepareThatBlocksTheCapturingThreadBreaksNothing) {
  BeginCapture();
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(Launch(8), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
  EXPECT_TRUE(driver_.launches.back().captured);
}

TEST_F(CaptureTest, AnEnginesEndBreaksNoCapture) {
  ASSERT_EQ(Prepare(op_, {8, 16, 32}), FUSEBOX_OK);
  BeginCapture();
  std::thread([&] {
    binding_.reset();
    op_.reset();
    engine_.reset();
  }).join();
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.num_libraries, 0);
}

TEST_F(CaptureTest, AKernelThatDoesNotFitIsUnloadedBesideTheCapture) {
  driver_.resident_ctas = 0;
  BeginCapture();
  ASSERT_EQ(Prepare(op_, {8}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_wait(engine_.get(), 20000), FUSEBOX_OK);
  EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
  EXPECT_EQ(driver_.num_libraries, 0);
  EXPECT_EQ(Launch(8), FUSEBOX_DECLINED);
}

TEST_F(CaptureTest, ManyCapturesAndManyPreparesGoOnAtOnce) {
  std::atomic<bool> done = false;
  std::thread preparing([&] {
    for (int round = 0; round < 30; ++round) {
      const auto engine = MakeEngine();
      const OpPointer op = MakeOp(engine);
      EXPECT_EQ(Prepare(op, {8, 16, 32}), FUSEBOX_OK) << fusebox_last_error_message();
    }
    done = true;
  });
  int num_captures = 0;
  while (!done || num_captures == 0) {
    BeginCapture();
    const fusebox_status status = Launch(5);
    EXPECT_TRUE(status == FUSEBOX_OK || status == FUSEBOX_NOT_READY) << status;
    EXPECT_EQ(EndCapture(), CUDA_SUCCESS);
    ++num_captures;
  }
  preparing.join();
}

TEST_F(CaptureTest, LaunchesAfterFreezeAddNoKernel) {
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK);
  ASSERT_EQ(fusebox_engine_freeze(engine_.get()), FUSEBOX_OK);
  const size_t num_loads = driver_.loaded_cubins.size();
  for (int i = 0; i < 15; ++i) {  // three periods of the background's look
    EXPECT_EQ(Launch(16), FUSEBOX_NOT_READY);
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(fusebox_engine_wait(engine_.get(), 20000), FUSEBOX_OK);
  EXPECT_EQ(driver_.loaded_cubins.size(), num_loads);
  EXPECT_FALSE(IsReady(op_, 16));
  EXPECT_TRUE(IsReady(op_, 8));
}

// The driver's load ends when the test lets it.
std::atomic<bool> load_entered{false};
std::atomic<bool> load_may_end{false};
DriverApi real_api;

CUresult SlowLoad(CUlibrary* library, const void* code, CUjit_option* options, void** values,
                  unsigned int count, CUlibraryOption* library_options, void** library_values,
                  unsigned int library_count) {
  load_entered = true;
  while (!load_may_end) absl::SleepFor(absl::Milliseconds(1));
  return real_api.LibraryLoadData(library, code, options, values, count, library_options,
                                  library_values, library_count);
}

TEST_F(CaptureTest, APrepareThatFreezeOvertookAddsNoKernelWhenItEnds) {
  real_api = *driver_.Api();
  auto api = std::make_shared<DriverApi>(real_api);
  api->LibraryLoadData = SlowLoad;
  load_entered = load_may_end = false;
  auto made = Engine::Create(
      Settings([](EngineSettings& s) { s.config.compile_mode = CompileMode::kBackground; }),
      [&] { return api; });
  ASSERT_TRUE(made.ok()) << made.status();
  const EnginePointer engine(new fusebox_engine{*std::move(made)});
  const OpPointer op = MakeOp(engine);
  const BindingPointer binding = Bind(op);
  ASSERT_EQ(Prepare(op, {8}, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  while (!load_entered) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_EQ(fusebox_engine_freeze(engine.get()), FUSEBOX_OK);
  EXPECT_FALSE(IsReady(op, 8));
  load_may_end = true;
  ASSERT_EQ(fusebox_engine_wait(engine.get(), 20000), FUSEBOX_OK);
  EXPECT_FALSE(IsReady(op, 8));
  EXPECT_EQ(Stats(engine).kernels_ready, 0u);
  EXPECT_EQ(fusebox_ffn_launch(binding.get(), &args_, kStream), FUSEBOX_NOT_READY);
}

}  // namespace
}  // namespace fusebox
