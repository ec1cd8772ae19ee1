// The command end to end, without a GPU and without NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "src/model/manifest.h"
#include "src/plan/legality.h"
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
                                                          {"compile", "--help"},
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
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("ffn_gated_silu_bf16_h4096_i11008, token tile 8, on h200-sxm"),
                    HasSubstr("predicted"), HasSubstr("floor"), HasSubstr("launch"),
                    HasSubstr("norm of hbm"), HasSubstr("runner-up"), HasSubstr("(chosen)"),
                    HasSubstr("differs in"), HasSubstr("rule"), HasSubstr("refused by "),
                    HasSubstr("chosen by  "), HasSubstr("8 CTAs\n  t8  ")));
}

// 4096 x 11008 in layout in_out is predicted to lose at 128 tokens, and to win at 8.
TEST(CommandTest, PlanShowsBothPathsAndTheVerdict) {
  const std::vector<std::string> arguments = {"plan",  "--gpu",          "h200-sxm", "--hidden",
                                              "4096",  "--intermediate", "11008",    "--tokens",
                                              "8,128", "--layout",       "in_out"};
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nunfused    "), HasSubstr("\nverdict    served\n"),
                                HasSubstr("\nverdict    declined: fusion_pays: "),
                                HasSubstr("FUSEBOX_DECLINE_SLOWER=0")));
  const CommandResult all = RunCommand(arguments, {{"FUSEBOX_DECLINE_SLOWER", "0"}});
  EXPECT_THAT(all.out, HasSubstr("\nverdict    served though slower: FUSEBOX_DECLINE_SLOWER=0\n"));
  EXPECT_THAT(all.out, Not(HasSubstr("declined: ")));
}

TEST(CommandTest, PlanAsJsonHasTheUnfusedPathAndTheRule) {
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "4096", "--intermediate", "11008",
                  "--layout", "in_out", "--tokens", "8,128", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  ASSERT_EQ(json.size(), 2u);
  EXPECT_FALSE(json[0].contains("declined"));
  EXPECT_EQ(json[1]["rule"], "fusion_pays");
  for (const nlohmann::json& op : json) {
    const double fused_us = op["search"]["best"]["cost"]["us"].get<double>();
    const double unfused_us = op["search"]["unfused"]["us"].get<double>();
    EXPECT_EQ(fused_us > unfused_us, op.contains("declined")) << op;
  }
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
  EXPECT_EQ(json[2]["rule"], "token_limit");
  EXPECT_THAT(json[2]["sentence"].get<std::string>(), StartsWith("1000 tokens exceed"));
}

TEST(CommandTest, PlanSaysWhenPreferenceAndNotCostChose) {
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h200-sxm", "--json", "--model",
                  "bench/models/meta-llama--Llama-3.1-8B.json", "--tokens", "8,16,32"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& op : result.Json()) {
    bool passed_by = false;
    for (const auto& ranked : op["search"]["runners_up"]) {
      passed_by = passed_by || ranked["cost"]["us"] < op["search"]["best"]["cost"]["us"];
    }
    EXPECT_EQ(op["chosen_by"], passed_by ? "preference among ties" : "cost") << op["op"];
  }
}

TEST(CommandTest, PlanSaysInWhatARunnerUpDiffers) {
  const CommandResult result = RunCommand({"plan", "--gpu", "h200-sxm", "--json", "--hidden",
                                           "4096", "--intermediate", "14336", "--tokens", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json search = result.Json()[0]["search"];
  ASSERT_EQ(search["runners_up"].size(), 8u);
  const nlohmann::json best = search["best"]["plan"].flatten();
  for (const auto& ranked : search["runners_up"]) {
    nlohmann::json changed = best;
    ASSERT_FALSE(ranked["differs"].empty());
    for (const auto& [field, difference] : ranked["differs"].items()) {
      std::string pointer = "/" + field;
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      EXPECT_EQ(changed[pointer], difference["chosen"]) << field;
      changed[pointer] = difference["value"];
    }
    EXPECT_EQ(changed.unflatten(), ranked["plan"]);
    EXPECT_GT(ranked["cost"]["up"]["hbm_us"], 0);
  }
  for (const auto& refused : search["refused"]) EXPECT_GT(refused["candidates"], 0);
}

TEST(CommandTest, PlanSaysWhenAPlanIsForced) {
  const std::vector<std::string> arguments = {
      "plan", "--gpu", "h200-sxm", "--hidden", "4096", "--intermediate", "14336", "--tokens", "8"};
  std::vector<std::string> as_json = arguments;
  as_json.emplace_back("--json");
  const nlohmann::json searched = RunCommand(as_json).Json()[0]["search"];
  const TemporaryFolder folder;
  WriteText(folder.path("plan.json"), searched["runners_up"][7]["plan"].dump(2));
  const KnobSettings knobs = {{"FUSEBOX_FORCE_PLAN", "@" + folder.path("plan.json")}};
  const nlohmann::json forced = RunCommand(as_json, knobs).Json()[0];
  EXPECT_EQ(forced["chosen_by"], "force");
  EXPECT_TRUE(forced["lower_rungs"].empty());
  EXPECT_EQ(forced["search"]["best"], [&] {
    nlohmann::json ranked = searched["runners_up"][7];
    ranked.erase("differs");
    return ranked;
  }());
  EXPECT_THAT(RunCommand(arguments, knobs).out, HasSubstr("chosen by  FUSEBOX_FORCE_PLAN"));
}

TEST(CommandTest, PlanShowsWhatFollowsOnAGpuThatHoldsLess) {
  const std::vector<std::string> arguments = {
      "plan", "--gpu", "h200-sxm", "--hidden", "4096", "--intermediate", "11008", "--tokens", "8"};
  std::vector<std::string> with_json = arguments;
  with_json.push_back("--json");
  const nlohmann::json json = RunCommand(with_json).Json();
  const nlohmann::json& rungs = json[0]["lower_rungs"];
  ASSERT_FALSE(rungs.empty());
  EXPECT_EQ(rungs.back()["clusters_needed"], 1);
  const CommandResult text = RunCommand(arguments);
  for (const auto& rung : rungs) {
    EXPECT_THAT(text.out, HasSubstr("else       " + rung["summary"].get<std::string>()));
  }
}

TEST(CommandTest, PlanListsEveryRule) {
  const CommandResult text = RunCommand({"plan", "--rules"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const LegalityRule& rule : LegalityRules()) {
    EXPECT_THAT(text.out, HasSubstr("\n" + std::string(rule.name) + " "))
        << "add a row to rule_list.cc";
  }
  EXPECT_EQ(RunCommand({"plan", "--rules", "--json"}).Json()[0]["rule"], "architecture");
}

TEST(CommandTest, ADeclineSaysWhatHelps) {
  const CommandResult result = RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "16384",
                                           "--intermediate", "524288", "--tokens", "128"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("declined: ring_fits: "),
                                HasSubstr("what helps: more tensor parallelism, or fewer tokens")));
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

// Each of README's lines that needs no GPU works as it stands, from the repository root.
TEST(CommandTest, ReadmesLinesWorkFromTheRepositoryRoot) {
  const TemporaryFolder folder;
  const std::string recorded = folder.path("recorded.jsonl");
  WriteText(recorded,
            ManifestLine({.profile = "h200-sxm",
                          .op = {.problem = {.hidden = DimK(64), .intermediate = DimN(128)},
                                 .token_tile = 8}}));
  std::istringstream lines(ReadText("README.md"));
  int num_run = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("fusebox warm ") && !line.starts_with("fusebox plan ")) continue;
    std::istringstream words(line.substr(0, line.find('#')).substr(8));
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    if (arguments.back() == "/opt/fusebox-cache") arguments.back() = folder.path("container");
    std::replace(arguments.begin(), arguments.end(), std::string("recorded.jsonl"), recorded);
    // Without NVRTC, here or at all, warm plans, looks and says what is missing.
    const CommandResult result = RunCommand(arguments, {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
    EXPECT_EQ(result.exit_code, arguments[0] == "warm" ? 3 : 0) << line << "\n" << result.err;
    EXPECT_NE(result.out, "") << line;
    ++num_run;
  }
  EXPECT_EQ(num_run, 6);
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
  EXPECT_GE(json["knobs"].size(), 13u);
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
