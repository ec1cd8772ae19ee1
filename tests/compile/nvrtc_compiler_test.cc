#include "runtime/compile/nvrtc_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/config/config.h"
#include "tests/compile/fake_nvrtc.h"
#include "tests/compile/small_kernel.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class NvrtcCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto config = ReadConfig(Environment::OfProcess());
    ASSERT_TRUE(config.ok());
    const auto api = LoadNvrtc(config->toolkit_places, config->nvrtc_path);
    ASSERT_TRUE(api.ok()) << api.status();
    compiler_ = std::make_unique<NvrtcCompiler>(*api);
  }

  std::unique_ptr<NvrtcCompiler> compiler_;
};

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST_F(NvrtcCompilerTest, MakesACubinWithHeadersFromMemory) {
  const auto kernel = compiler_->Compile(SmallKernel());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->cubin.substr(1, 3), "ELF");
  EXPECT_THAT(kernel->cubin, HasSubstr("small"));
  EXPECT_GT(kernel->resources.registers, 0);
  EXPECT_FALSE(kernel->resources.Spills());
  EXPECT_GT(kernel->milliseconds, 0);
  EXPECT_EQ(kernel->nvrtc_major, compiler_->api().major);
}

TEST(FakeNvrtcTest, AnyCallThatFailsIsACompileFailure) {
  const auto compile = [](void (*spoil)(NvrtcApi&)) {
    NvrtcApi api = *FakeNvrtc::Reset().Api();
    api.major = 13;
    spoil(api);
    return NvrtcCompiler(std::make_shared<const NvrtcApi>(api)).Compile(SmallKernel()).status();
  };
  EXPECT_TRUE(compile([](NvrtcApi&) {}).ok());
  EXPECT_TRUE(IsCompileFailure(compile([](NvrtcApi& api) {
    api.CreateProgram = [](nvrtcProgram*, const char*, const char*, int, const char* const*,
                           const char* const*) { return NVRTC_ERROR_PROGRAM_CREATION_FAILURE; };
  })));
  EXPECT_TRUE(IsCompileFailure(compile([](NvrtcApi& api) {
    api.GetCubin = [](nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; };
  })));
  EXPECT_TRUE(IsCompileFailure(compile([](NvrtcApi& api) {
    api.GetProgramLogSize = [](nvrtcProgram, size_t* bytes) { return *bytes = 0, NVRTC_SUCCESS; };
  })));
  EXPECT_TRUE(absl::IsResourceExhausted(compile([](NvrtcApi& api) {
    api.GetCubin = [](nvrtcProgram, char*) { return NVRTC_ERROR_OUT_OF_MEMORY; };
  })));
}

TEST_F(NvrtcCompilerTest, MakesTheSameBytesAgain) {
  const auto first = compiler_->Compile(SmallKernel());
  const auto second = compiler_->Compile(SmallKernel());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->cubin, second->cubin);
  EXPECT_EQ(first->log, second->log);
}

TEST_F(NvrtcCompilerTest, ReportsLocalMemory) {
  KernelSource source = SmallKernel();
  source.text =
      "__noinline__ int Pick(int* a, int n) { a[n]++; return a[n * 2]; }\n"
      "extern \"C\" __global__ void small(int* p, int n) {\n"
      "  int a[64];\n  for (int i = 0; i < 64; ++i) a[i] = p[i];\n  p[n] = Pick(a, n);\n}\n";
  const auto kernel = compiler_->Compile(source);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_GE(kernel->resources.stack_bytes, 256);
  EXPECT_TRUE(kernel->resources.Spills());
}

TEST_F(NvrtcCompilerTest, ReportsSpillsThatItForced) {
  KernelSource source = SmallKernel();
  source.flags.push_back("--maxrregcount=24");
  std::string sums, loads;
  for (int i = 0; i < 64; ++i) {
    absl::StrAppend(&loads, "  float v", i, " = p[", i, "];\n");
    absl::StrAppend(&sums, "  p[", i, "] = v", i, " * v", 63 - i, ";\n");
  }
  source.text =
      absl::StrCat("extern \"C\" __global__ void small(volatile float* p) {\n", loads, sums, "}\n");
  const auto kernel = compiler_->Compile(source);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_GT(kernel->resources.spill_store_bytes, 0);
}

TEST_F(NvrtcCompilerTest, TellsWhyASourceWasRefused) {
  KernelSource source = SmallKernel();
  source.text = "extern \"C\" __global__ void small() { undeclared(); }";
  const auto kernel = compiler_->Compile(source);
  ASSERT_FALSE(kernel.ok());
  EXPECT_TRUE(IsCompileFailure(kernel.status()));
  const std::string message(kernel.status().message());
  EXPECT_THAT(message, HasSubstr("refused small_0"));
  EXPECT_THAT(message, HasSubstr("identifier \"undeclared\" is undefined"));
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_THAT(CompileFailureLog(kernel.status()), HasSubstr("undeclared"));
}

TEST_F(NvrtcCompilerTest, FindsNoToolkitHeader) {
  KernelSource source = SmallKernel();
  source.text = "#include <cuda_bf16.h>\nextern \"C\" __global__ void small() {}";
  EXPECT_TRUE(IsCompileFailure(compiler_->Compile(source).status()));
}

TEST_F(NvrtcCompilerTest, RefusesAnUnknownFlagWithoutACrash) {
  KernelSource source = SmallKernel();
  source.flags.push_back("--no-such-flag");
  EXPECT_FALSE(compiler_->Compile(source).ok());
}

TEST_F(NvrtcCompilerTest, CompilesOnSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] { EXPECT_TRUE(compiler_->Compile(SmallKernel(t)).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NvrtcCompilerTest, DoesNotGrowWithEveryCompile) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(compiler_->Compile(SmallKernel(i)).ok());
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(compiler_->Compile(SmallKernel(i)).ok());
  // A program that is not destroyed keeps some 100 KB (measured by leaving the destruction out).
  EXPECT_LT(ResidentBytes() - before, int64_t{5} << 20);
}

}  // namespace
}  // namespace fusebox
