// The engine with NVRTC and without a GPU: real kernels, a driver that only loads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cache/cubin_store.h"
#include "runtime/cache/files.h"
#include "tests/compile/small_kernel.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class EngineCompileTest : public EngineFixture {
 protected:
  void SetUp() override {
    const auto config = ReadConfig(Environment::OfProcess());
    ASSERT_TRUE(config.ok());
    places_ = config->toolkit_places;
    nvrtc_path_ = config->nvrtc_path;
    const auto api = LoadNvrtc(places_, nvrtc_path_);
    ASSERT_TRUE(api.ok()) << api.status();
  }

  EnginePointer MakeCompilingEngine(CompileMode mode = CompileMode::kBlock,
                                    const std::string& dump_dir = "") {
    return MakeEngine([&](EngineSettings& s) {
      s.config.compile_mode = mode;
      s.config.toolkit_places = places_;
      s.config.nvrtc_path = nvrtc_path_;
      s.config.dump_dir = dump_dir;
    });
  }

  ToolkitPlaces places_;
  std::string nvrtc_path_;
};

TEST_F(EngineCompileTest, CompilesOnceAndThenServesFromDiskWithoutNvrtc) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {8, 16, 32}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(Stats(engine_).compiles, 3u);
  EXPECT_GT(Stats(engine_).compile_microseconds, 0u);

  const auto warmed = MakeEngine([](EngineSettings& s) {
    s.config.compile_mode = CompileMode::kBlock;
    s.config.nvrtc_path = "/nonexistent/libnvrtc.so";
  });
  const OpPointer op = MakeOp(warmed);
  ASSERT_EQ(Prepare(op, {8, 16, 32}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(Stats(warmed).compiles, 0u);
  EXPECT_EQ(Stats(warmed).cache_disk_hits, 3u);
}

TEST_F(EngineCompileTest, CompilesOnceForSixteenThreads) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_OK); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stats(engine_).compiles, 1u);
}

TEST_F(EngineCompileTest, CompilesInTheBackgroundWhileLaunchesSayNotReady) {
  engine_ = MakeCompilingEngine(CompileMode::kBackground);
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 8);
  ASSERT_EQ(Prepare(op_, {8}, FUSEBOX_PREPARE_DEFAULT), FUSEBOX_OK);
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  ASSERT_EQ(fusebox_engine_wait(engine_.get(), 60000), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_OK);
}

TEST_F(EngineCompileTest, RebuildsACorruptedEntryOnce) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  const std::string cubin = absl::StrCat(
      cache_root_, "/v1/sm_90a/", op_->ffn->Planned(0).source.Digest().ToHex(), "/kernel.cubin");
  { std::ofstream(cubin, std::ios::trunc) << "garbage"; }
  for (const uint64_t compiles : {1, 0}) {
    const auto engine = MakeCompilingEngine();
    const OpPointer op = MakeOp(engine);
    ASSERT_EQ(Prepare(op, {8}), FUSEBOX_OK) << fusebox_last_error_message();
    EXPECT_EQ(Stats(engine).compiles, compiles);
    EXPECT_EQ(Stats(engine).cache_bad_entries, compiles);
  }
}

TEST_F(EngineCompileTest, ReplacesAnEntryWhoseCubinTheDriverRefuses) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  const KernelSource& source = op_->ffn->Planned(0).source;
  const auto silent = EventLog::Silent();
  CompiledKernel unloadable = MadeUpKernel(0);
  unloadable.cubin = "unloadable, says the fake driver";
  ASSERT_TRUE(CubinStore({cache_root_}, silent.get()).Store(source, unloadable).ok());
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(Stats(engine_).cache_bad_entries, 1u);
  const auto found = CubinStore({cache_root_}, silent.get()).Find(source, 1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->cubin, unloadable.cubin);
}

TEST_F(EngineCompileTest, KeepsAnEntryOnAHostThatRefusesFreshKernelsToo) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  driver_.failures["cuLibraryLoadData"] = CUDA_ERROR_NO_BINARY_FOR_GPU;
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_UNAVAILABLE);
  EXPECT_EQ(Stats(engine_).compiles, 1u);
  EXPECT_EQ(Stats(engine_).cache_bad_entries, 0u);
  const auto silent = EventLog::Silent();
  const auto found =
      CubinStore({cache_root_}, silent.get()).Find(op_->ffn->Planned(0).source, 1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cubin, MadeUpKernel(0).cubin);
}

TEST_F(EngineCompileTest, ServesFromMemoryWhenItsCacheCannotBeWritten) {
  { std::ofstream(cache_root_) << "a file where the root should be"; }
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_TRUE(IsReady(op_, 8));
  EXPECT_EQ(Stats(engine_).cache_write_failures, 1u);
}

TEST_F(EngineCompileTest, DumpsWhatAPersonNeedsToCompileAKernelAgain) {
  const std::string dump_dir = cache_root_ + "/dump";
  engine_ = MakeCompilingEngine(CompileMode::kBlock, dump_dir);
  op_ = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  const KernelSource& source = op_->ffn->Planned(0).source;
  const std::string folder = absl::StrCat(dump_dir, "/", source.name, "-", source.Digest().ToHex());
  for (const char* name : {"kernel.cu", "plan.json", "log.txt", "kernel.cubin", "reproduce.sh"}) {
    EXPECT_THAT(ListFolder(folder), Contains(std::string(name)));
  }
  for (const auto& [path, text] : source.headers.files()) {
    EXPECT_EQ(*ReadFile(absl::StrCat(folder, "/", path)), text);
  }
}

TEST_F(EngineCompileTest, SpillsNothingForAnyTile) {
  engine_ = MakeCompilingEngine();
  op_ = MakeOp(engine_);
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    const auto served = engine_->engine->kernels().GetOrCompile(op_->ffn->Planned(i).source,
                                                                CompilePermission::kAllowed);
    ASSERT_TRUE(served.ok()) << served.status();
    EXPECT_EQ(served->origin, KernelOrigin::kCompiled);
    EXPECT_FALSE(served->kernel->resources.Spills());
    EXPECT_FALSE(served->kernel->resources.setmaxnreg_ignored);
  }
}

TEST_F(EngineCompileTest, CompilesForAProfileWithoutAGpu) {
  engine_ = MakeEngine([&](EngineSettings& s) {
    s.device_ordinal = kNoDevice;
    s.config.device_profile = "h200-sxm";
    s.config.compile_mode = CompileMode::kBlock;
    s.config.toolkit_places = places_;
    s.config.nvrtc_path = nvrtc_path_;
  });
  op_ = MakeOp(engine_);
  ASSERT_EQ(Prepare(op_, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  // The H200 that gets this cache finds the kernel under the same digest.
  const auto on_gpu = MakeEngine();
  const OpPointer op = MakeOp(on_gpu);
  ASSERT_EQ(Prepare(op, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(Stats(on_gpu).cache_disk_hits, 1u);
}

}  // namespace
}  // namespace fusebox
