// `fusebox warm` end to end on a machine with NVRTC and without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "src/model/manifest.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = "bench/models/Qwen--Qwen3-0.6B.json";
const KnobSettings kNoNvrtc = {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}};

class WarmTest : public ::testing::Test {
 protected:
  CommandResult Warm(std::vector<std::string> more = {}, const KnobSettings& knobs = {}) const {
    std::vector<std::string> arguments = {"warm",      "--model",     kModel,
                                          "--gpu",     "h200-sxm",    "--tokens",
                                          "1,8,16,32", "--cache-dir", root_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(arguments, knobs);
  }

  TemporaryFolder root_;
};

TEST_F(WarmTest, CompilesOnceThenFindsEverything) {
  const CommandResult first = Warm({"--tp", "1,2", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
  const nlohmann::json made = first.Json();
  EXPECT_EQ(made["totals"]["compiled"], 6);
  EXPECT_EQ(made["models"][0]["blocks"][0]["intermediate"], 3072);
  EXPECT_EQ(made["models"][0]["norm"], "rms");
  for (const auto& kernel : made["kernels"]) {
    EXPECT_EQ(kernel["outcome"], "compiled") << kernel;
    EXPECT_GT(kernel["registers"], 0) << kernel;
    EXPECT_EQ(kernel["stack_bytes"], 0) << kernel;
    EXPECT_EQ(kernel["spill_store_bytes"], 0) << kernel;
    EXPECT_GT(kernel["compile_ms"], 0) << kernel;
    EXPECT_EQ(kernel["lower_rungs"].size(), 2u) << kernel;
  }

  const CommandResult second = Warm({"--tp", "1,2", "--json"}, kNoNvrtc);
  ASSERT_EQ(second.exit_code, 0) << second.err << second.out;
  const nlohmann::json found = second.Json();
  EXPECT_EQ(found["totals"]["compiled"], 0);
  EXPECT_EQ(found["totals"]["cached"], 6);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(found["kernels"][i]["digest"], made["kernels"][i]["digest"]);
    EXPECT_EQ(found["kernels"][i]["registers"], made["kernels"][i]["registers"]);
    for (size_t rung = 0; rung < 2; ++rung) {
      const nlohmann::json& lower = found["kernels"][i]["lower_rungs"][rung];
      EXPECT_EQ(lower["outcome"], "cached") << lower;
      EXPECT_EQ(lower["digest"], made["kernels"][i]["lower_rungs"][rung]["digest"]);
    }
  }
}

// 4096 x 11008 in layout in_out is predicted to lose at 128 tokens, and to win at 8.
TEST_F(WarmTest, LeavesOutWhatDoesNotPayUnlessAskedForIt) {
  const std::string manifest = root_.path("recorded.jsonl");
  {
    const FfnProblem problem = {
        .hidden = DimK(4096), .intermediate = DimN(11008), .layout = WeightLayout::kInOut};
    std::ofstream file(manifest);
    for (const int tile : {8, 128})
      file << ManifestLine({.profile = "h200-sxm", .op = {.problem = problem, .token_tile = tile}});
  }
  const std::vector<std::string> arguments = {"warm",        "--manifest", manifest,
                                              "--cache-dir", root_.path(), "--json"};
  const CommandResult result = RunCommand(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const nlohmann::json json = result.Json();
  EXPECT_EQ(json["totals"]["declined"], 1);
  EXPECT_EQ(json["totals"]["compiled"], 1);
  EXPECT_EQ(json["kernels"][1]["token_tile"], 128);
  EXPECT_EQ(json["kernels"][1]["rule"], "fusion_pays");

  std::vector<std::string> all = arguments;
  all.push_back("--even-if-slower");
  EXPECT_EQ(RunCommand(all).Json()["totals"]["declined"], 0);
  const CommandResult knob = RunCommand(arguments, {{"FUSEBOX_DECLINE_SLOWER", "0"}});
  EXPECT_EQ(knob.Json()["totals"]["cached"], 2) << knob.out;
}

TEST_F(WarmTest, CompilesOnItsOwnThreadWhereNoOtherStarts) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
  rlimit huge = before;
  huge.rlim_cur = rlim_t{1} << 46;  // the command's threads ask for such a stack, and get none
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &huge), 0) << "the test needs `ulimit -Hs unlimited`";
  const CommandResult result = Warm({"--jobs", "8", "--json"});
  ASSERT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(result.Json()["totals"]["compiled"], 3);
}

TEST_F(WarmTest, EndsInATableWithTotals) {
  const CommandResult result = Warm();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part :
       {"Qwen--Qwen3-0.6B: qwen3, 28 layers, hidden 1024, intermediate 3072, gated silu, bf16",
        "plan", "predicted us", "ffn_gated_silu_bf16_h1024_i3072_rms_add_before_norm",
        "h200-sxm: 3 compiled, 0 cached", "median compile", "rungs",
        "with 6 plans for GPUs that hold less"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.err, HasSubstr("[3/3] "));  // progress, one line a kernel, off the terminal
}

TEST_F(WarmTest, EqualOpsOfTwoModelsAreCompiledOnce) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(kModel, folder.path("twin.json"));
  const CommandResult result = Warm({"--model", folder.path("twin.json"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  EXPECT_EQ(json["totals"]["compiled"], 3);
  EXPECT_EQ(json["kernels"][0]["asked_by"].size(), 2u);
}

TEST_F(WarmTest, ACopiedCacheServesReadOnlyBehindAnother) {
  ASSERT_EQ(Warm().exit_code, 0);
  const TemporaryFolder copies;
  std::filesystem::copy(root_.path(), copies.path("copy"),
                        std::filesystem::copy_options::recursive);
  const CommandResult result =
      RunCommand({"warm", "--model", kModel, "--gpu", "h200-sxm", "--tokens", "8", "--json",
                  "--cache-dir", copies.path("new") + ":" + copies.path("copy")},
                 kNoNvrtc);
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(result.Json()["totals"]["cached"], 1);
}

TEST_F(WarmTest, ACacheThatCannotBeWrittenFailsWithTheRemedy) {
  const TemporaryFolder folder;
  WriteText(folder.path("file"), "");
  const CommandResult result =
      RunCommand({"warm", "--model", kModel, "--gpu", "h200-sxm", "--tokens", "8,16", "--jobs", "1",
                  "--cache-dir", folder.path("file/cache")});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out,
              HasSubstr("give a writable folder with --cache-dir or FUSEBOX_CACHE_DIR"));
}

TEST_F(WarmTest, ACorruptedEntryIsNamedAndMadeAgain) {
  ASSERT_EQ(Warm({"--tokens", "8"}).exit_code, 0);
  EXPECT_EQ(RunCommand({"cache", "verify", "--cache-dir", root_.path()}).exit_code, 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path())) {
    if (entry.path().filename() != "kernel.cubin") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('\x5a');
    file.put('\xa5');
  }
  const CommandResult verified =
      RunCommand({"cache", "verify", "--json", "--cache-dir", root_.path()});
  EXPECT_EQ(verified.exit_code, 1) << verified.out;
  EXPECT_THAT(verified.err, HasSubstr("are bad; they are never loaded"));
  const CommandResult again = Warm({"--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.Json()["totals"]["cached"], 0);
  EXPECT_EQ(RunCommand({"cache", "verify", "--cache-dir", root_.path()}).exit_code, 0);
}

TEST_F(WarmTest, VerifyFailsForARootThatIsNotThere) {
  for (const char* root : {"/nonexistent/cache", "/dev/null"}) {
    const CommandResult result = RunCommand({"cache", "verify", "--cache-dir", root});
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_THAT(result.err, HasSubstr(std::string("not every root was verified: opening ") + root));
  }
}

TEST_F(WarmTest, VerifyTellsDamagedTextFromADamagedKernel) {
  ASSERT_EQ(Warm({"--tokens", "8"}).exit_code, 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path())) {
    if (entry.path().filename() == "kernel.cu") WriteText(entry.path().string(), "changed");
  }
  const CommandResult result = RunCommand({"cache", "verify", "--cache-dir", root_.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("damaged text, kernel intact: the checksum of kernel.cu"));
}

TEST_F(WarmTest, CacheLsShowsWhatWasMade) {
  const CommandResult warmed = Warm({"--json"});
  ASSERT_EQ(warmed.exit_code, 0) << warmed.err;
  std::set<std::string> digests;
  const nlohmann::json made = warmed.Json();
  for (const auto& kernel : made["kernels"]) {
    digests.insert(kernel["digest"].get<std::string>());
    for (const auto& rung : kernel["lower_rungs"])
      digests.insert(rung["digest"].get<std::string>());
  }
  const CommandResult result = RunCommand({"cache", "ls", "--json", "--cache-dir", root_.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json kernels = result.Json()["kernels"];
  ASSERT_EQ(kernels.size(), digests.size());
  for (const auto& kernel : kernels) {
    EXPECT_THAT(kernel["name"].get<std::string>(), HasSubstr("ffn_gated_silu_bf16_h1024_i3072"));
    EXPECT_NE(kernel["plan"], "-");
    EXPECT_GE(kernel["age_seconds"], 0);
    EXPECT_GT(kernel["bytes"], 1000);
  }
  const CommandResult text = RunCommand({"cache", "ls", "--cache-dir", root_.path()});
  EXPECT_THAT(text.out, HasSubstr(std::to_string(digests.size()) + " kernels, "));
}

}  // namespace
}  // namespace fusebox
