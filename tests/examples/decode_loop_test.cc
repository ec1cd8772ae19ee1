// The decode loop of examples/ as a program, over a libcuda that runs on the CPU (host_cuda.cc): it
// serves fused, on its own path, and says what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

// `cuda_folder` comes before what the machine has, where NVRTC may be.
CommandResult RunLoop(KnobSettings environment = {}, std::string cuda_folder = HOST_CUDA_FOLDER) {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  if (folders != nullptr) cuda_folder += std::string(":") + folders;
  environment.emplace("LD_LIBRARY_PATH", cuda_folder);
  return RunProgram(DECODE_LOOP, {}, environment);
}

TEST(DecodeLoopTest, PreparedBatchesRunFusedAndOthersOnTheOwnPath) {
  const CommandResult result = RunLoop();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line :
       {"batch  1: 3 of 3 layers fused", "batch  8: 3 of 3 layers fused",
        "batch 16: 0 of 3 layers fused", "batch 32: 0 of 3 layers fused",
        "launches captured: 6 fused, 3 not ready, 3 declined, 0 failed", "8 steps, all right"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_EQ(result.err, "");
}

TEST(DecodeLoopTest, WithoutKernelsTheOwnPathServes) {
  const CommandResult result = RunLoop({{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("launches captured: 0 fused, 9 not ready, 3 declined"));
  EXPECT_THAT(result.out, HasSubstr("8 steps, all right"));
  EXPECT_THAT(result.err, HasSubstr("UNAVAILABLE: nvrtc"));
  EXPECT_THAT(result.err, HasSubstr("missing: batch 1 ran 0 layers fused"));
}

TEST(DecodeLoopTest, WhereFuseboxIsSwitchedOffTheOwnPathServes) {
  const CommandResult result = RunLoop({{"FUSEBOX_ENABLE", "0"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("8 steps, all right"));
  EXPECT_THAT(result.err, HasSubstr("all layers run the engine's own path"));
}

TEST(DecodeLoopTest, AWrongValueIsNoticed) {
  const CommandResult result = RunLoop({{"HOST_CUDA_SPOIL", "1"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("step 0, batch 1: "));
  EXPECT_THAT(result.err, HasSubstr("values are wrong"));
}

TEST(DecodeLoopTest, WithoutADriverItSaysSo) {
  const TemporaryFolder folder;
  WriteText(folder.path("libcuda.so.1"), "");  // hides a driver that this machine may have
  const CommandResult result = RunLoop({}, folder.path());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("missing: no NVIDIA driver"));
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace fusebox
