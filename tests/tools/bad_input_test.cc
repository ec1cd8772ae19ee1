// What a person can get wrong: each ends in the exit code that --help promises and in a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kModel[] = "bench/models/meta-llama--Llama-3.2-1B.json";

std::vector<std::string> WarmArguments(const std::string& model) {
  return {"warm", "--model", model, "--gpu", "h200-sxm", "--tokens", "8"};
}

TEST(BadInputTest, ArgumentsThatAreWrongAreUsageErrors) {
  struct Case {
    std::vector<std::string> arguments;
    std::string sentence;
  };
  const Case cases[] = {
      {{},
       "fusebox: A subcommand is required; accepted: warm plan compile verify bench doctor cache"},
      {{"bake"}, "accepted: warm plan compile verify bench doctor cache"},
      {{"warm"},
       "fusebox warm: no op is named; pass --model FILE, --manifest FILE or --plans FILE"},
      {{"warm", "--manifest", "m.jsonl", "--tokens", "8"}, "--tokens requires --model"},
      {{"compile"}, "fusebox compile: folder is required"},
      {{"warm", "--model", kModel}, "pass --gpu with one of"},
      {{"warm", "--model", kModel, "--gpu", "h300"}, "\"h300\" is not known; known: "},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--tokens", "eight"}, "eight"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--tokens", "0"},
       "token count 0 is not positive"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--tp", "0"},
       "tensor-parallel degree 0 is not positive"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--engine", "tgi"},
       "accepted: vllm, sglang, hf, trtllm"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--jobs", "0"}, "--jobs"},
      {{"plan", "--gpu", "h200-sxm"},
       "no op is named; pass --model FILE, or --hidden N and --intermediate N"},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "64"}, "--intermediate is missing"},
      {{"cache", "ls", "--plan"}, "fusebox cache ls: "},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "-8", "--intermediate", "64"}, "hidden is -8"},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "1000000000000"},
       "intermediate is 1000000000000"},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "64", "--form", "round"},
       "--form round is unknown; accepted: gated, plain"},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "64", "--activation",
        "mish"},
       "--activation mish is unknown; accepted: silu, gelu_erf, gelu_tanh, gelu_new, relu"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--residual", "twice"},
       "--residual twice is unknown; accepted: none, add_before_norm, add_after, sandwich"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--dtype", "fp8"},
       "--dtype fp8 is unknown; accepted: bf16, fp16"},
      {{"warm", "--model", kModel, "--gpu", "h200-sxm", "--bare", "--residual", "sandwich"},
       "residual mode sandwich needs a norm"},
      {{"plan", "--model", kModel, "--gpu", "h200-sxm", "--bias", "left"},
       "--bias left is unknown; accepted: none, up, down, both"},
      {{"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "64", "--norm", "batch"},
       "--norm batch is unknown; accepted: none, rms, rms_plus_one, layer"},
      {{"cache"}, "subcommand"},
  };
  for (const Case& c : cases) {
    const CommandResult result = RunCommand(c.arguments);
    EXPECT_EQ(result.exit_code, 2) << c.sentence << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.sentence));
  }
}

TEST(BadInputTest, ModelFilesThatAreWrongAreUsageErrors) {
  const TemporaryFolder folder;
  struct Case {
    std::string text;
    std::string sentence;
  };
  const std::string head = R"({"model_type": "llama", "num_hidden_layers": 2, )";
  const Case cases[] = {
      {"", "the text ends after 0 bytes"},
      {"weights", "not JSON at line 1, column 1"},
      {R"({"model_type": "llama", "hidden_size": 40)", "truncated?"},
      {R"({})", "model_type and architectures are both missing"},
      {head + R"("intermediate_size": 128})", "field hidden_size is missing"},
      {head + R"("hidden_size": 0, "intermediate_size": 128})", "field hidden_size is 0"},
      {head + R"("hidden_size": -64, "intermediate_size": 128})", "field hidden_size is -64"},
      {head + R"("hidden_size": "64", "intermediate_size": 128})",
       "field hidden_size is \"64\" (a string)"},
      {head + R"("hidden_size": 64, "intermediate_size": 1000000000000})",
       "field intermediate_size is 1000000000000; an integer from 1 to 1048576 is needed"},
  };
  for (const Case& c : cases) {
    const std::string path = folder.path("config.json");
    WriteText(path, c.text);
    const CommandResult result = RunCommand(WarmArguments(path));
    EXPECT_EQ(result.exit_code, 2) << c.text << "\n" << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(path), HasSubstr(c.sentence)));
    EXPECT_EQ(result.out, "") << c.text;
  }
}

TEST(BadInputTest, ModelFilesThatCannotBeReadAreUsageErrors) {
  const TemporaryFolder folder;
  const CommandResult missing = RunCommand(WarmArguments(folder.path("none.json")));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err,
              HasSubstr("none.json does not exist; give the path of a Hugging Face config.json"));
  const CommandResult is_folder = RunCommand(WarmArguments(folder.path()));
  EXPECT_EQ(is_folder.exit_code, 2);
  EXPECT_THAT(is_folder.err, HasSubstr("is a folder; give a Hugging Face config.json inside it"));
}

TEST(BadInputTest, ManifestsThatAreWrongAreUsageErrors) {
  const TemporaryFolder folder;
  const std::string path = folder.path("recorded.jsonl");
  const std::string head = R"({"manifest": 1, "profile": "h200-sxm", "problem": {"op": "ffn", )";
  const std::string tail =
      R"("intermediate": 128, "dtype": "bf16", "activation": "silu", "form": "gated",)"
      R"( "residual_mode": "none", "norm": "none", "rounding": "engine", "up_bias": 0,)"
      R"( "down_bias": 0, "layout": "out_in"}, "token_tile": 8})";
  const std::pair<std::string, std::string> cases[] = {
      {"", "lists no op; run the engine with FUSEBOX_RECORD="},
      {"ops", "line 1: the text is not JSON from byte 1 on"},
      {head + R"("hidden": 64, )" + tail + "\n{}", "line 2: manifest is missing"},
      {head + R"("hidden": "64", )" + tail,
       "line 1: problem.hidden is a string; an integer is expected"},
      {head + R"("hidden": 0, )" + tail, "line 1: problem.hidden is 0; accepted: 1 to 1048576"},
  };
  for (const auto& [text, sentence] : cases) {
    WriteText(path, text);
    const CommandResult result = RunCommand({"warm", "--manifest", path});
    EXPECT_EQ(result.exit_code, 2) << text << "\n" << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("manifest " + path), HasSubstr(sentence)));
    EXPECT_EQ(result.out, "") << text;
  }
  const CommandResult missing = RunCommand({"warm", "--manifest", folder.path("none")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err,
              HasSubstr("does not exist; give the path of a file that FUSEBOX_RECORD"));
}

TEST(BadInputTest, OverridesThatAreWrongAreUsageErrors) {
  const std::vector<std::vector<std::string>> commands = {
      {"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "64"},
      WarmArguments(kModel)};
  for (const auto& arguments : commands) {
    const CommandResult plan = RunCommand(arguments, {{"FUSEBOX_FORCE_PLAN", "{}"}});
    EXPECT_EQ(plan.exit_code, 2) << plan.err;
    EXPECT_THAT(plan.err, HasSubstr("FUSEBOX_FORCE_PLAN: plan: problem.op is missing"));
    const CommandResult folder = RunCommand(arguments, {{"FUSEBOX_TEMPLATE_DIR", "/nope"}});
    EXPECT_EQ(folder.exit_code, 2) << folder.err;
    EXPECT_THAT(folder.err, HasSubstr("FUSEBOX_TEMPLATE_DIR=/nope: the folder lacks abi/"));
  }
}

TEST(BadInputTest, ModelsThatAreNotServedAreDeclinedByRule) {
  struct Case {
    std::vector<std::string> arguments;
    std::string rule;
    std::string sentence;
  };
  const TemporaryFolder folder;
  const std::string mamba = folder.path("mamba.json");
  WriteText(mamba, R"({"model_type": "mamba", "hidden_size": 2304})");
  const Case cases[] = {
      {WarmArguments(mamba), "architecture", "\"mamba\" is not served; this version serves llama"},
      {WarmArguments("bench/models/openai--gpt-oss-120b.json"), "clamped_swiglu",
       "gpt-oss interleaves gate and up row by row"},
      {WarmArguments("bench/models/deepseek-ai--DeepSeek-V3.json"), "quantization",
       "give the unquantised model"},
  };
  for (const Case& c : cases) {
    const CommandResult result = RunCommand(c.arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("declined: " + c.rule), HasSubstr(c.sentence),
                                  HasSubstr("every op is declined: no kernel was made")));
  }
  const std::string said = RunCommand(WarmArguments(mamba)).out;
  const size_t first = said.find("is not served");
  EXPECT_EQ(said.find("is not served", first + 1), std::string::npos) << "said twice";
  std::vector<std::string> arguments = WarmArguments(mamba);
  arguments.push_back("--json");
  const nlohmann::json json = RunCommand(arguments).Json();
  EXPECT_EQ(json["kernels"][0]["rule"], "architecture");
  EXPECT_THAT(json["kernels"][0]["sentence"].get<std::string>(), HasSubstr("is not served"));
}

TEST(BadInputTest, NamesThatAreNoKnobsAreWarnedOf) {
  const CommandResult plan =
      RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "64", "--intermediate", "64"},
                 {{"FUSEBOX_PDLL", "0"}});
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_THAT(plan.err, HasSubstr("fusebox plan: warning: FUSEBOX_PDLL is no knob"));
  const CommandResult warm = RunCommand(WarmArguments("none.json"), {{"FUSEBOX_CACHE", "x"}});
  EXPECT_THAT(warm.err, HasSubstr("fusebox warm: warning: FUSEBOX_CACHE is no knob"));
}

TEST(BadInputTest, UnservedDimsAreDeclinedByRule) {
  const CommandResult result = RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "4100",
                                           "--intermediate", "11008", "--tokens", "8,64"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("declined: dim_granule: hidden 4100 is not a multiple of 8"));
}

TEST(BadInputTest, ABadKnobNamesTheAcceptedValues) {
  const CommandResult result =
      RunCommand(WarmArguments(kModel), {{"FUSEBOX_COMPILE", "sometimes"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.err,
      HasSubstr("FUSEBOX_COMPILE=sometimes is not accepted; use background, block or never"));
}

TEST(BadInputTest, AListOfNoFoldersIsNoCache) {
  const CommandResult result = RunCommand(WarmArguments(kModel), {{"FUSEBOX_CACHE_DIR", ":"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("FUSEBOX_CACHE_DIR or --cache-dir names no folder"));
}

TEST(BadInputTest, WithoutNvrtcMissingKernelsAreReportedAsMissing) {
  const CommandResult result =
      RunCommand(WarmArguments(kModel), {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("missing"), HasSubstr("/nonexistent")));
}

TEST(BadInputTest, DoctorSaysWhatIsWrong) {
  const CommandResult bad_knob = RunCommand({"doctor"}, {{"FUSEBOX_PDL", "perhaps"}});
  EXPECT_EQ(bad_knob.exit_code, 1);
  EXPECT_THAT(bad_knob.out,
              AllOf(HasSubstr("FAIL"), HasSubstr("FUSEBOX_PDL=perhaps is not accepted")));
  const CommandResult bad_profile = RunCommand({"doctor"}, {{"FUSEBOX_DEVICE_PROFILE", "h300"}});
  EXPECT_EQ(bad_profile.exit_code, 1);
  EXPECT_THAT(bad_profile.out, HasSubstr("\"h300\" is not known"));
}

TEST(BadInputTest, DoctorKeepsGoodKnobsInForceBesideABadOne) {
  const TemporaryFolder folder;
  const CommandResult result = RunCommand({"doctor"}, {{"FUSEBOX_PDL", "maybe"},
                                                       {"FUSEBOX_COMPILE", "soon"},
                                                       {"FUSEBOX_CACHE_DIR", folder.path("mine")}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("FUSEBOX_PDL=maybe is not accepted"),
                                HasSubstr("FUSEBOX_COMPILE=soon is not accepted"),
                                HasSubstr(folder.path("mine") + ": not there yet, can be made")));
}

TEST(BadInputTest, DoctorTriesWhatAnEngineWouldWriteTo) {
  const TemporaryFolder folder;
  const CommandResult log = RunCommand({"doctor"}, {{"FUSEBOX_LOG_FILE", "/nope/x"}});
  EXPECT_EQ(log.exit_code, 1);
  EXPECT_THAT(log.out, HasSubstr("FUSEBOX_LOG_FILE=/nope/x cannot be opened for appending"));
  const CommandResult dump = RunCommand({"doctor"}, {{"FUSEBOX_DUMP_DIR", "/proc/nope"}});
  EXPECT_THAT(dump.out, HasSubstr("FUSEBOX_DUMP_DIR=/proc/nope cannot be written"));
  const CommandResult record = RunCommand({"doctor"}, {{"FUSEBOX_RECORD", "/nope/manifest"}});
  EXPECT_THAT(record.out, HasSubstr("FUSEBOX_RECORD: opening /nope/manifest: "));
  const CommandResult force = RunCommand({"doctor"}, {{"FUSEBOX_FORCE_PLAN", "@/nope/plan"}});
  EXPECT_EQ(force.exit_code, 1);
  EXPECT_THAT(force.out, HasSubstr("FUSEBOX_FORCE_PLAN=@/nope/plan: opening /nope/plan: "));
  const CommandResult cache = RunCommand({"doctor"}, {{"FUSEBOX_CACHE_DIR", "/proc/nope"}});
  EXPECT_THAT(cache.out, HasSubstr("/proc/nope: cannot be written"));
  const CommandResult good = RunCommand({"doctor"}, {{"FUSEBOX_LOG_FILE", folder.path("log")},
                                                     {"FUSEBOX_DUMP_DIR", folder.path("dump")},
                                                     {"FUSEBOX_RECORD", folder.path("record")},
                                                     {"FUSEBOX_CACHE_DIR", folder.path("cache")}});
  EXPECT_THAT(good.out, HasSubstr("all accepted"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "doctor left something behind";
}

TEST(BadInputTest, DoctorCountsAnotherBuildsKernelsAsStaleAndNotAsBad) {
  const TemporaryFolder folder;
  const std::string entry = folder.path("v1/sm_90a/" + std::string(32, 'a'));
  std::filesystem::create_directories(entry);
  WriteText(entry + "/meta.json", R"({"schema": 1})");
  WriteText(entry + "/kernel.cubin", "");
  const CommandResult doctor = RunCommand({"doctor"}, {{"FUSEBOX_CACHE_DIR", folder.path()}});
  EXPECT_THAT(doctor.out, HasSubstr("1 kernels, 13 B, of them 1 of another build (misses); "));
  for (const char* action : {"ls", "verify"}) {
    const CommandResult cache = RunCommand({"cache", action, "--cache-dir", folder.path()});
    EXPECT_EQ(cache.exit_code, 0) << cache.err;
    EXPECT_THAT(cache.out, HasSubstr("stale: written by another build (schema 1"));
  }
}

TEST(BadInputTest, DoctorWarnsOfACacheThatCannotBeWritten) {
  const TemporaryFolder folder;
  WriteText(folder.path("file"), "");
  const CommandResult result =
      RunCommand({"doctor"}, {{"FUSEBOX_CACHE_DIR", folder.path("file/cache")}});
  EXPECT_THAT(result.out, HasSubstr("cannot be written, new kernels stay in memory only"));
}

}  // namespace
}  // namespace fusebox
