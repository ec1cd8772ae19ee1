// Every call of the driver and of NVRTC fails once, in each of a few ways: it must end in a status
// with a sentence that names the call and says what to do, give back what was taken, and leave an
// engine that works. The scenarios are counted first, so a call site that is added is covered, and
// a function that no scenario calls fails the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/compile/fake_nvrtc.h"
#include "tests/driver/failing_calls.h"
#include "tests/driver/fake_driver.h"
#include "tests/error/injection.h"

namespace fusebox {
namespace {

using Scenario = ScenarioRun (*)(const std::string& cache_root);

// Functions that give something back, in a destructor: there is nobody to tell, and nothing to do.
// cuThreadExchangeStreamCaptureMode belongs here in half of its calls, those that restore a mode.
const std::set<std::string>& UntoldFunctions() {
  static const std::set<std::string>* const symbols =
      new std::set<std::string>{"cuDevicePrimaryCtxRelease_v2",
                                "cuCtxPopCurrent_v2",
                                "cuLibraryUnload",
                                "cuMemFree_v2",
                                "cuStreamDestroy_v2",
                                "cuGraphDestroy",
                                "cuGraphExecDestroy",
                                "cuEventDestroy_v2",
                                "nvrtcDestroyProgram"};
  return *symbols;
}

// Functions of the table that only say what another failure was.
bool OnlyDescribes(const std::string& symbol) {
  return symbol == "cuGetErrorName" || symbol == "cuGetErrorString" ||
         symbol == "nvrtcGetErrorString";
}

// Functions that nothing but GPU tests call, which cannot go on without it.
bool IsForTestsOnly(const std::string& symbol) { return symbol == "cuMemcpyDtoDAsync_v2"; }

// Functions that only shadow launches call: a launch goes on whatever they answer.
constexpr const char* kShadowFunctions[] = {"cuStreamIsCapturing", "cuMemHostAlloc",
                                            "cuMemFreeHost", "cuEventSynchronize"};

// The library's entry points carry versions that no sentence names.
std::string NameOf(const std::string& symbol) {
  return std::string(absl::StripSuffix(symbol, "_v2"));
}

// In memory where the system offers that: the runs together write and sync thousands of files.
std::string CacheParent() {
  std::error_code error;
  const char* const in_memory = "/dev/shm";
  return std::filesystem::is_directory(in_memory, error) ? in_memory : testing::TempDir();
}

class InjectedFailureTest : public testing::Test {
 protected:
  InjectedFailureTest() : root_(absl::StrCat(CacheParent(), "/fusebox_injected-", getpid())) {}
  ~InjectedFailureTest() override {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }

  // In a world as new. Nothing may be left of it.
  ScenarioRun Run(Scenario scenario) {
    std::filesystem::remove_all(root_);
    FakeDriver::Reset();
    FakeNvrtc::Reset();
    ScenarioRun run = scenario(root_);
    num_compiles_ = FakeNvrtc::Instance().num_compiles;
    EXPECT_EQ(FakeDriver::Instance().num_libraries, 0);
    EXPECT_EQ(FakeDriver::Instance().num_contexts, 0);
    EXPECT_EQ(FakeDriver::Instance().streams.num_unreleased(), 0);
    EXPECT_EQ(FakeNvrtc::Instance().num_programs, 0);
    EXPECT_EQ(FakeContextDepth(), 0);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  // a restoring call may have failed
    (void)ExchangeFakeCaptureMode(&mode);
    return run;
  }

  // Calls of each function in an undisturbed run.
  std::map<std::string, int> CountCalls(Scenario scenario) {
    FailingCalls::Instance().Reset();
    const ScenarioRun run = Run(scenario);
    EXPECT_TRUE(run.IsWhole());
    EXPECT_THAT(run.failures(), testing::IsEmpty()) << run.failures().front().status;
    std::map<std::string, int> counts;
    for (const auto* symbols : {&DriverSymbols(), &NvrtcSymbols()}) {
      for (const std::string& symbol : *symbols) {
        counts[symbol] = FailingCalls::Instance().Count(symbol);
      }
    }
    undisturbed_compiles_ = num_compiles_;
    return counts;
  }

  // The first failure's status, OK where nobody was told.
  absl::Status RunWithFailure(Scenario scenario, const std::string& symbol, int nth, int code) {
    FailingCalls::Instance().Reset();
    FailingCalls::Instance().Fail(symbol, nth, code);
    const ScenarioRun run = Run(scenario);
    EXPECT_EQ(FailingCalls::Instance().num_failed(), 1);
    EXPECT_TRUE(run.IsWhole());
    for (const StepFailure& lost : run.lost()) {
      ADD_FAILURE() << lost.step << " fails again: " << lost.status;
    }
    EXPECT_LE(run.failures().size(), 1u);
    return run.failures().empty() ? absl::OkStatus() : run.failures().front().status;
  }

  // Fails every call of `symbol` in turn; returns how many of them nobody was told of.
  int FailEveryCall(Scenario scenario, const std::string& symbol, int num_calls, int code) {
    int num_untold = 0;
    for (int nth = 1; nth <= num_calls; ++nth) {
      SCOPED_TRACE(
          absl::StrCat("FailingCalls::Instance().Fail(\"", symbol, "\", ", nth, ", ", code, ")"));
      const absl::Status status = RunWithFailure(scenario, symbol, nth, code);
      if (status.ok()) {
        ++num_untold;
        continue;
      }
      const std::string message(status.message());
      EXPECT_THAT(message, testing::HasSubstr(NameOf(symbol)));
      EXPECT_THAT(message, testing::HasSubstr("; ")) << "it says what to do";
      EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
    }
    return num_untold;
  }

  const std::string root_;
  int num_compiles_ = 0;
  int undisturbed_compiles_ = 0;
};

constexpr int kDriverCodes[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
                                CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_LAUNCH_FAILED};
constexpr int kNvrtcCodes[] = {NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_ERROR_COMPILATION,
                               NVRTC_ERROR_INTERNAL_ERROR};

bool IsNvrtc(const std::string& symbol) { return absl::StartsWith(symbol, "nvrtc"); }

TEST_F(InjectedFailureTest, TheScenariosCallEveryFunctionOfTheTables) {
  const std::map<std::string, int> of_engine = CountCalls(RunEngineScenario);
  const std::map<std::string, int> of_tools = CountCalls(RunToolsScenario);
  const std::map<std::string, int> of_shadows = CountCalls(RunShadowScenario);
  for (const auto& [symbol, count] : of_engine) {
    if (OnlyDescribes(symbol) || IsForTestsOnly(symbol)) continue;
    EXPECT_GT(count + of_tools.at(symbol) + of_shadows.at(symbol), 0) << symbol;
  }
}

TEST_F(InjectedFailureTest, EveryCallOfAnEngineMayFailOnce) {
  const auto calls = CountCalls(RunEngineScenario);
  for (const auto& [symbol, num_calls] : calls) {
    int expected_untold = UntoldFunctions().contains(symbol) ? num_calls : 0;
    if (symbol == "cuThreadExchangeStreamCaptureMode") {
      // Told of where a context is entered; untold where the mode is restored, and at an unload.
      expected_untold = num_calls - calls.at("cuCtxPushCurrent_v2");
    }
    const auto codes =
        IsNvrtc(symbol) ? absl::MakeConstSpan(kNvrtcCodes) : absl::MakeConstSpan(kDriverCodes);
    for (const int code : codes) {
      EXPECT_EQ(FailEveryCall(RunEngineScenario, symbol, num_calls, code), expected_untold)
          << symbol << " " << code;
    }
  }
}

TEST_F(InjectedFailureTest, EveryCallOfTheToolsMayFailOnce) {
  const auto calls = CountCalls(RunToolsScenario);
  for (const auto& [symbol, num_calls] : calls) {
    int expected_untold = UntoldFunctions().contains(symbol) ? num_calls : 0;
    if (symbol == "cuThreadExchangeStreamCaptureMode") {
      expected_untold = num_calls - (calls.at("cuCtxPushCurrent_v2") - 1);  // the session's own
    } else if (symbol == "cuStreamSynchronize") {
      expected_untold = 1;  // the session's end
    }
    const auto codes =
        IsNvrtc(symbol) ? absl::MakeConstSpan(kNvrtcCodes) : absl::MakeConstSpan(kDriverCodes);
    for (const int code : codes) {
      EXPECT_EQ(FailEveryCall(RunToolsScenario, symbol, num_calls, code), expected_untold)
          << symbol << " " << code;
    }
  }
}

TEST_F(InjectedFailureTest, LaunchesGoOnWhateverFailsInAShadow) {
  const auto calls = CountCalls(RunShadowScenario);
  for (const char* symbol : kShadowFunctions) {
    ASSERT_GT(calls.at(symbol), 0) << symbol;
    for (const int code : kDriverCodes) {
      EXPECT_EQ(FailEveryCall(RunShadowScenario, symbol, calls.at(symbol), code), calls.at(symbol))
          << symbol << " " << code;
    }
  }
}

// The driver says that the bytes are no cubin: one from a cache is compiled anew, a fresh one is a
// failure.
TEST_F(InjectedFailureTest, AnImageThatIsRefusedIsCompiledAnewOrReported) {
  const auto calls = CountCalls(RunEngineScenario);
  for (const char* symbol : {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction"}) {
    int num_told = 0;
    int num_made_anew = 0;
    for (int nth = 1; nth <= calls.at(symbol); ++nth) {
      SCOPED_TRACE(absl::StrCat(symbol, " ", nth));
      const absl::Status status =
          RunWithFailure(RunEngineScenario, symbol, nth, CUDA_ERROR_INVALID_IMAGE);
      if (status.ok()) {
        ++num_made_anew;
        EXPECT_EQ(num_compiles_, undisturbed_compiles_ + 1);
        continue;
      }
      ++num_told;
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr(symbol));
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("CUDA major version"));
    }
    EXPECT_GT(num_told, 0) << symbol;
    EXPECT_GT(num_made_anew, 0) << symbol;
  }
}

// A failure whose name or description cannot be had is reported all the same.
TEST_F(InjectedFailureTest, AFailureIsReportedWithoutItsDescription) {
  const struct {
    const char* describing;
    const char* failing;
    int code;
  } cases[] = {{"cuGetErrorName", "cuMemsetD32Async", CUDA_ERROR_INVALID_VALUE},
               {"cuGetErrorName", "cuLaunchKernelEx", CUDA_ERROR_INVALID_VALUE},
               {"cuGetErrorString", "cuMemsetD32Async", CUDA_ERROR_INVALID_VALUE},
               {"nvrtcGetErrorString", "nvrtcCreateProgram", NVRTC_ERROR_INTERNAL_ERROR},
               {"nvrtcGetErrorString", "nvrtcCompileProgram", NVRTC_ERROR_COMPILATION}};
  for (const auto& [describing, failing, code] : cases) {
    SCOPED_TRACE(absl::StrCat(failing, " without ", describing));
    FailingCalls::Instance().Reset();
    FailingCalls::Instance().Fail(failing, 1, code);
    FailingCalls::Instance().Fail(describing, 1, CUDA_ERROR_INVALID_VALUE);
    const ScenarioRun run = Run(RunEngineScenario);
    EXPECT_EQ(FailingCalls::Instance().num_failed(), 2);
    EXPECT_TRUE(run.IsWhole());
    ASSERT_EQ(run.failures().size(), 1u);
    EXPECT_THAT(std::string(run.failures()[0].status.message()), testing::HasSubstr(failing));
  }
}

}  // namespace
}  // namespace fusebox
