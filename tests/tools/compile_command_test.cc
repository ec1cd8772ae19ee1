// A dumped kernel is compiled again by its script and by `fusebox compile`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CompileCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult result =
        RunCommand({"warm", "--model", "bench/models/Qwen--Qwen3-0.6B.json", "--gpu", "h200-sxm",
                    "--tokens", "8", "--json", "--cache-dir", root_.path("cache")},
                   {{"FUSEBOX_DUMP_DIR", root_.path("dump")}});
    ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
    for (const auto& entry : fs::directory_iterator(root_.path("dump"))) {
      dump_ = std::max(dump_, entry.path().string());
      ++num_dumps_;
    }
    const nlohmann::json made = result.Json();
    ASSERT_EQ(num_dumps_, 1 + std::ssize(made["kernels"][0]["lower_rungs"]))
        << "a kernel, a folder";
  }

  // Its exit code; what it prints is in Output().
  int Reproduce(const std::string& environment) const {
    return std::system(
        (environment + " " + dump_ + "/reproduce.sh >" + root_.path("out") + " 2>&1").c_str());
  }
  std::string Output() const { return ReadText(root_.path("out")); }
  std::string Cubin() const { return ReadText(dump_ + "/kernel.cubin"); }
  std::string Again() const { return ReadText(dump_ + "/again.cubin"); }

  TemporaryFolder root_;
  std::string dump_;  // of one kernel of the ladder
  int64_t num_dumps_ = 0;
};

TEST_F(CompileCommandTest, TheScriptMakesTheSameCubinWithTheCommand) {
  ASSERT_EQ(Reproduce("FUSEBOX='" + CommandPath() + "'"), 0) << Output();
  ASSERT_FALSE(Cubin().empty());
  EXPECT_EQ(Again(), Cubin());
  EXPECT_THAT(Output(), HasSubstr("the same bytes as the dumped cubin"));
}

TEST_F(CompileCommandTest, TheScriptFindsTheCommandOnThePath) {
  const std::string folder = fs::path(CommandPath()).parent_path().string();
  ASSERT_EQ(Reproduce("PATH='" + folder + "':\"$PATH\""), 0) << Output();
  EXPECT_EQ(Again(), Cubin());
}

#ifdef FUSEBOX_HAS_NVCC
TEST_F(CompileCommandTest, TheScriptCompilesWithNvccWhereTheCommandIsNot) {
  ASSERT_EQ(Reproduce("FUSEBOX=/nonexistent PATH='" FUSEBOX_HAS_NVCC "':\"$PATH\""), 0) << Output();
  EXPECT_EQ(Again().substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_THAT(Output(), AllOf(HasSubstr("0 bytes spill stores"), HasSubstr("again.cubin ")));
}
#endif

TEST_F(CompileCommandTest, AnEditedKernelIsCompiledAsItIsNow) {
  const std::string header = dump_ + "/kernels_templates/kernels/ffn.cuh";
  WriteText(header, "// edited\n" + ReadText(header));
  const CommandResult result =
      RunCommand({"compile", dump_, "--json", "--output", root_.path("new.cubin")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  EXPECT_NE(json["digest"], json["dumped_digest"]);
  EXPECT_GT(json["registers"], 0);
  EXPECT_FALSE(ReadText(root_.path("new.cubin")).empty());
}

TEST_F(CompileCommandTest, AKernelThatDoesNotCompileFailsWithTheLog) {
  WriteText(dump_ + "/kernel.cu", ReadText(dump_ + "/kernel.cu") + "int broken = here;\n");
  const CommandResult result = RunCommand({"compile", dump_});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("identifier \"here\" is undefined"),
                                HasSubstr("fusebox compile: nvrtc ")));
  EXPECT_FALSE(fs::exists(dump_ + "/again.cubin"));
}

TEST_F(CompileCommandTest, WithoutNvrtcItSaysWhatIsMissing) {
  const CommandResult result =
      RunCommand({"compile", dump_}, {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("/nonexistent"));
}

TEST_F(CompileCommandTest, WhatIsNoDumpIsAUsageError) {
  fs::remove(dump_ + "/kernels_templates/ptx/wgmma.cuh");
  EXPECT_EQ(RunCommand({"compile", dump_}).exit_code, 2);
  const CommandResult result = RunCommand({"compile", root_.path()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("give a folder that FUSEBOX_DUMP_DIR got for a kernel"));
}

TEST_F(CompileCommandTest, ANewDumpTakesTheOldOnesPlace) {
  WriteText(dump_ + "/kernel.cu", "edited");
  const CommandResult result =
      RunCommand({"warm", "--model", "bench/models/Qwen--Qwen3-0.6B.json", "--gpu", "h200-sxm",
                  "--tokens", "8", "--cache-dir", root_.path("other")},
                 {{"FUSEBOX_DUMP_DIR", root_.path("dump")}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ReadText(dump_ + "/kernel.cu"), HasSubstr("struct Plan"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_.path("dump")), fs::directory_iterator()),
            num_dumps_);
}

}  // namespace
}  // namespace fusebox
