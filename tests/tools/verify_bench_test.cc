// `fusebox verify` and `fusebox bench` as a person without a GPU meets them: usage errors, the exit
// code for a missing GPU, and verify's --compile-only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/driver/device_query.h"
#include "runtime/tools/verify_variants.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using testing::HasSubstr;

bool HasGpu() {
  const auto api = LoadDriver();
  return api.ok() && QueryDevice(**api, 0).ok();
}

struct UsageCase {
  std::vector<std::string> arguments;
  const char* sentence;
};

TEST(VerifyBenchTest, UsageErrorsNameWhatIsAccepted) {
  TemporaryFolder folder;
  WriteText(folder.path("bad.jsonl"), "\n{\"plan\": 1}\n");
  WriteText(folder.path("text.jsonl"), "no json\n");
  const std::vector<UsageCase> cases = {
      {{"verify"}, "pass --model FILE, or --hidden N and --intermediate N"},
      {{"verify", "--model", "nowhere.json"}, "does not exist"},
      {{"verify", "--hidden", "0", "--intermediate", "8"}, "--hidden is missing"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--tokens", "0"}, "token"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--form", "round"},
       "accepted: gated, plain"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--residual", "much"},
       "accepted: none, add_before_norm, add_after, sandwich"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--residual", "sandwich"},
       "needs a norm"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--norm", "batch"},
       "accepted: none, rms, rms_plus_one, layer"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--variants", "--dtype", "fp16"},
       "leave out --dtype"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--both-dtypes", "--dtype", "fp16"},
       "leave out --dtype"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--as-engine"}, "from a model"},
      {{"verify", "--models", "nowhere"}, "holds no model"},
      {{"verify", "--models", folder.path()}, "no file *.json in it"},
      {{"verify", "--hidden", "64", "--intermediate", "64", "--repeat", "0"}, "repeat"},
      {{"bench", "--hidden", "64", "--intermediate", "64", "--activation", "tanh"},
       "accepted: silu, gelu_erf, gelu_tanh, gelu_new, relu, relu_squared"},
      {{"bench", "--hidden", "64", "--intermediate", "64", "--neighbours", "nobody"},
       "accepted: fusebox, foreign"},
      {{"bench", "--hidden", "64", "--intermediate", "64", "--rounding", "fused"},
       "time them with --plans"},
      {{"bench", "--hidden", "64", "--intermediate", "64", "--replays", "3"}, "replays"},
      {{"bench", "--plans", "nowhere.jsonl"},
       "plan file nowhere.jsonl does not exist; give the path of a file with one plan a line"},
      {{"bench", "--plans", folder.path("text.jsonl")}, "line 1: is no JSON object"},
      {{"bench", "--plans", folder.path("bad.jsonl")}, "line 2: "},
      {{"bench", "--fastest", "5"}, "--fastest requires --plans"},
      {{"bench", "--seconds", "5"}, "--seconds requires --plans"},
      {{"bench", "--shapes", "nowhere.json"}, "shape file nowhere.json does not exist"},
      {{"bench", "--shapes", "nowhere.json", "--hidden", "64"}, "--hidden excludes --shapes"},
  };
  for (const UsageCase& one : cases) {
    const CommandResult result = RunCommand(one.arguments);
    EXPECT_EQ(result.exit_code, 2) << one.sentence << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(one.sentence));
    EXPECT_EQ(result.out, "");
  }
}

TEST(VerifyBenchTest, WithoutAGpuTheExitCodeIsThree) {
  for (const char* command : {"verify", "bench"}) {
    const CommandResult result =
        RunCommand({command, "--hidden", "64", "--intermediate", "64", "--tokens", "1"});
    EXPECT_EQ(result.exit_code, HasGpu() ? 0 : 3) << result.err;
    if (HasGpu()) continue;
    EXPECT_THAT(result.err, HasSubstr(std::string("fusebox ") + command + ": "));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("ordinal")));  // that is the API's word
  }
}

TEST(VerifyBenchTest, CompileOnlyFillsACacheOnce) {
  TemporaryFolder folder;
  const std::vector<std::string> arguments = {
      "verify",      "--compile-only",    "--gpu", "h200-sxm", "--hidden",
      "64",          "--intermediate",    "64",    "--tokens", "1,9",
      "--cache-dir", folder.path("cache")};
  const CommandResult first = RunCommand(arguments);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  // Two tiles of one cluster each, which needs no lower rung, and the tools' own two.
  EXPECT_EQ(first.out, "1 of 1 ops can be verified from the cache; 4 kernels compiled\n");
  const CommandResult second = RunCommand(arguments, {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, "1 of 1 ops can be verified from the cache; 0 kernels compiled\n");
}

TEST(VerifyBenchTest, CompileOnlyCompilesEveryVariant) {
  TemporaryFolder folder;
  const CommandResult result =
      RunCommand({"verify", "--compile-only", "--variants", "--gpu", "h200-sxm", "--hidden", "64",
                  "--intermediate", "64", "--tokens", "1", "--cache-dir", folder.path("cache")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("19 of 19 ops can be verified from the cache"));
}

// How often each value of a field occurs in the list.
template <typename Field>
std::map<int, int> Occurrences(Field field) {
  std::map<int, int> count;
  for (const FfnProblem& problem : VariantsOf(DimK(64), DimN(64))) {
    EXPECT_TRUE(FfnProblem::Create(problem).ok()) << problem.Name();
    ++count[static_cast<int>(field(problem))];
  }
  return count;
}

TEST(VerifyBenchTest, VariantsHaveEveryValueTwice) {
  const struct {
    std::map<int, int> occurrences;
    size_t num_values;
  } fields[] = {{Occurrences([](const FfnProblem& p) { return p.dtype; }), 2},
                {Occurrences([](const FfnProblem& p) { return p.activation; }), 6},
                {Occurrences([](const FfnProblem& p) { return p.form; }), 2},
                {Occurrences([](const FfnProblem& p) { return p.residual_mode; }), 4},
                {Occurrences([](const FfnProblem& p) { return p.norm; }), 4},
                {Occurrences([](const FfnProblem& p) { return p.rounding; }), 2},
                {Occurrences([](const FfnProblem& p) { return p.up_bias * 2 + p.down_bias; }), 4}};
  for (const auto& [occurrences, num_values] : fields) {
    EXPECT_EQ(occurrences.size(), num_values);
    for (const auto& [value, count] : occurrences) EXPECT_GE(count, 2) << value;
  }
}

TEST(VerifyBenchTest, AVariantIsNamedByWhatItHas) {
  FfnProblem problem = {.hidden = DimK(64), .intermediate = DimN(64)};
  EXPECT_EQ(VariantName(problem), "bare");
  problem.norm = Norm::kRms;
  problem.residual_mode = ResidualMode::kAddBeforeNorm;
  EXPECT_EQ(VariantName(problem), "rms_add_before_norm");
  problem.down_bias = true;
  problem.rounding = Rounding::kFused;
  EXPECT_EQ(VariantName(problem), "rms_add_before_norm_down_bias_fused");
}

TEST(VerifyBenchTest, ADeclinedOpIsNoFailureOfCompileOnly) {
  const CommandResult result = RunCommand({"verify", "--compile-only", "--gpu", "h200-sxm",
                                           "--model", "bench/models/openai--gpt-oss-120b.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 of "));
}

// 2048 x 8192 at 128 tokens is declined by fusion_pays; whether a kernel is right is asked of it
// too.
TEST(VerifyBenchTest, TakesKernelsThatDoNotPay) {
  const TemporaryFolder folder;
  const CommandResult result =
      RunCommand({"verify", "--compile-only", "--gpu", "h200-sxm", "--hidden", "2048",
                  "--intermediate", "8192", "--tokens", "128", "--cache-dir", folder.path("cache")},
                 {{"FUSEBOX_DECLINE_SLOWER", "1"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 of 1 ops"));
}

}  // namespace
}  // namespace fusebox
