// The command end to end, without a GPU and without NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandTest, EveryHelpNamesTheExitCodes) {
  const std::vector<std::vector<std::string>> commands = {{"--help"},
                                                          {"warm", "--help"},
                                                          {"plan", "--help"},
                                                          {"verify", "--help"},
                                                          {"bench", "--help"},
                                                          {"doctor", "--help"},
                                                          {"cache", "ls", "--help"},
                                                          {"cache", "verify", "--help"}};
  for (const auto& arguments : commands) {
    const CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments.front();
    EXPECT_THAT(result.out, HasSubstr("Exit codes: 0")) << arguments.front();
  }
}

TEST(CommandTest, PrintsItsVersion) {
  const CommandResult result = RunCommand({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("fusebox 0."));
}

TEST(CommandTest, PlanExplainsAnOp) {
  const CommandResult result = RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "4096",
                                           "--intermediate", "11008", "--tokens", "1,8"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("ffn_gated_silu_bf16_h4096_i11008, token tile 8, on h200-sxm"),
            HasSubstr("predicted"), HasSubstr("floor"), HasSubstr("launch"),
            HasSubstr("root of squares of hbm"), HasSubstr("runner-up"), HasSubstr("rule")));
}

TEST(CommandTest, PlanPrintsJson) {
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h100-sxm", "--json", "--model",
                  "bench/models/Qwen--Qwen3-0.6B.json", "--bare", "--tokens", "1,8,32,1000"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  ASSERT_TRUE(json.is_array()) << result.out;
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["op"], "ffn_gated_silu_bf16_h1024_i3072");
  EXPECT_EQ(json[0]["tokens"], nlohmann::json::array({1, 8}));
  EXPECT_EQ(json[1]["token_tile"], 32);
  EXPECT_GT(json[1]["search"]["best"]["cost"]["us"].get<double>(), 0);
  EXPECT_THAT(json[2]["declined"].get<std::string>(), StartsWith("token_limit: "));
}

TEST(CommandTest, ResidualIsPartOfTheOp) {
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h200-sxm", "--json", "--residual", "add_after", "--bare",
                  "--model", "bench/models/Qwen--Qwen3-0.6B.json", "--tokens", "8"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()[0]["op"], "ffn_gated_silu_bf16_h1024_i3072_add_after");
}

TEST(CommandTest, PlanIsTheSameEveryTime) {
  const std::vector<std::string> arguments = {"plan",     "--gpu", "gh200",          "--json",
                                              "--hidden", "896",   "--intermediate", "4864"};
  EXPECT_EQ(RunCommand(arguments).out, RunCommand(arguments).out);
}

TEST(CommandTest, DoctorReportsEveryPart) {
  const CommandResult result = RunCommand({"doctor", "--json"});
  const nlohmann::json json = result.Json();
  ASSERT_TRUE(json.is_object()) << result.out;
  std::vector<std::string> checks;
  for (const auto& finding : json["checks"]) checks.push_back(finding["check"].get<std::string>());
  EXPECT_THAT(checks, ::testing::IsSupersetOf({"knobs", "driver", "nvrtc", "pipeline", "cache 1"}));
  bool nothing_here = true;
  for (const auto& finding : json["checks"]) {
    const bool counts = finding["check"] == "driver" || finding["check"] == "nvrtc";
    if (counts && finding["verdict"] == "OK") nothing_here = false;
  }
  EXPECT_EQ(result.exit_code, nothing_here ? 3 : 0) << result.out;
  EXPECT_GE(json["knobs"].size(), 10u);
}

TEST(CommandTest, AnEmptyCacheIsListedAsEmpty) {
  const TemporaryFolder folder;
  const CommandResult text = RunCommand({"cache", "ls", "--cache-dir", folder.path()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("0 kernels, 0 B in " + folder.path()));
  const CommandResult json =
      RunCommand({"cache", "ls", "--json", "--cache-dir", folder.path("none")});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(json.Json()["kernels"].empty());
}

}  // namespace
}  // namespace fusebox
