// What a sweep of `fusebox verify` lists and says: each problem once, and what was covered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/tools/verify_list.h"
#include "runtime/tools/verify_report.h"
#include "src/base/status.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

OpToRun OpOf(const std::string& model, int64_t hidden, std::vector<int64_t> tokens) {
  const FfnProblem problem = {.hidden = DimK(hidden), .intermediate = DimN(64)};
  return {.model = model, .name = problem.Name(), .tokens = std::move(tokens), .problem = problem};
}

TEST(VerifySweepTest, AProblemOfSeveralModelsIsRunOnceForAllTheirTokens) {
  const auto once = EachOnce({OpOf("a", 64, {1, 8}), OpOf("b", 72, {1}), OpOf("c", 64, {8, 16})});
  ASSERT_EQ(once.size(), 2u);
  EXPECT_THAT(once[0].models, ElementsAre("a", "c"));
  EXPECT_THAT(once[0].op.tokens, ElementsAre(1, 8, 16));
  EXPECT_THAT(once[1].models, ElementsAre("b"));
}

TEST(VerifySweepTest, ARefusalIsSaidOnce) {
  const OpToRun refused = {.model = "a", .name = "ffn", .problem = Declined("quantization", "no")};
  OpToRun other = refused;
  other.model = "b";
  OpToRun another = refused;
  another.problem = Declined("architecture", "no");
  const auto once = EachOnce({refused, other, another});
  ASSERT_EQ(once.size(), 2u);
  EXPECT_THAT(once[0].models, ElementsAre("a", "b"));
}

TEST(VerifySweepTest, TokenCountsLieAroundEveryTile) {
  const std::vector<int64_t> tokens = TokensToVerify();
  for (const int tile : kTokenTiles) {
    EXPECT_THAT(tokens, testing::Contains(tile));
    if (tile == kMaxTokens) continue;
    EXPECT_THAT(tokens, testing::Contains(tile + 1));
  }
  for (const int64_t count : tokens) EXPECT_LE(count, kMaxTokens);
}

TEST(VerifySweepTest, AllModelsOfTheFolderAreListed) {
  const auto files = ModelFilesIn("bench/models");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_GE(files->size(), 50u);
  EXPECT_TRUE(std::is_sorted(files->begin(), files->end()));
}

VerifyRow RightRow(const std::vector<std::string>& models, const std::string& shape) {
  return {.models = models,
          .op = "ffn_" + shape,
          .shape = shape,
          .variant = "gated_silu_bf16 bare",
          .tokens = 8,
          .plan = "c8x14",
          .dataflow = "dsm_gather",
          .outcome = VerifyOutcome::kRight,
          .worst_ratio = 0.25};
}

TEST(VerifySweepTest, TheSummarySaysWhatWasCovered) {
  VerifyReport report;
  report.Add(RightRow({"a", "b"}, "64x128"));
  report.Add(RightRow({"a", "b"}, "64x128"));
  report.Add(RightRow({"c"}, "72x128"));
  report.Add({.models = {"d"},
              .op = "ffn_large",
              .outcome = VerifyOutcome::kDeclined,
              .sentence = "co_resident: too large"});
  const std::string text = report.ToText("H200", 5);
  EXPECT_THAT(text, HasSubstr("dataflow dsm_gather: right on 2 shapes: 64x128, 72x128\n"));
  EXPECT_THAT(text, HasSubstr("variant gated_silu_bf16 bare: right on 3 models\n"));
  EXPECT_THAT(text, HasSubstr("declined by co_resident: 1 ops: ffn_large\n"));
  EXPECT_THAT(text, HasSubstr("H200: 3 right, 0 wrong, 1 declined, 0 failed, 0 missing; worst "
                              "error/bound 0.250; 5 kernels compiled\n"));
  EXPECT_EQ(report.Code(), ExitCode::kDone);
  const auto json = report.ToJson("H200", 5);
  EXPECT_EQ(json["shapes_by_dataflow"]["dsm_gather"].size(), 2u);
  EXPECT_EQ(json["models_by_variant"]["gated_silu_bf16 bare"].size(), 3u);
  EXPECT_EQ(json["declined_by_rule"]["co_resident"][0], "ffn_large");
  EXPECT_EQ(json["rows"].size(), 4u);
}

TEST(VerifySweepTest, OneWrongRowFailsAndCoversNothing) {
  VerifyReport report;
  VerifyRow wrong = RightRow({"a"}, "64x128");
  wrong.outcome = VerifyOutcome::kWrong;
  wrong.sentence = "3 of 512 elements are wrong";
  report.Add(wrong);
  EXPECT_EQ(report.Code(), ExitCode::kFailed);
  EXPECT_THAT(report.ToText("H200", 0), Not(HasSubstr("right on")));
  EXPECT_THAT(ToLine(wrong), HasSubstr("WRONG    a ffn_64x128 tp 1 M 8  error/bound 0.250"));
}

TEST(VerifySweepTest, ASweepCompilesEachKernelOnce) {
  TemporaryFolder folder;
  const std::string llama = "bench/models/meta-llama--Llama-3.2-1B.json";
  std::filesystem::create_directory(folder.path("models"));
  WriteText(folder.path("models/one.json"), ReadText(llama));
  WriteText(folder.path("models/two.json"), ReadText(llama));
  const CommandResult result = RunCommand(
      {"verify", "--compile-only", "--gpu", "h200-sxm", "--models", folder.path("models"),
       "--as-engine", "--both-dtypes", "--tokens", "1", "--cache-dir", folder.path("cache")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // In each dtype the three rungs of the op's ladder and the oracle; and the tools' own.
  EXPECT_EQ(result.out, "2 of 2 ops can be verified from the cache; 9 kernels compiled\n");
}

}  // namespace
}  // namespace fusebox
