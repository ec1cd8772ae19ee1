// Every model of bench/models, as each engine asks for it, planned: a plan or a named rule for each
// op. Needs neither NVRTC nor a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::vector<std::string> PlanEverything(const std::string& engine) {
  std::vector<std::string> arguments = {"plan",     "--gpu",     "h200-sxm", "--engine", engine,
                                        "--tokens", "1,8,16,32", "--tp",     "1,2,4,8",  "--json"};
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator("bench/models")) {
    if (entry.path().extension() == ".json") models.push_back(entry.path().string());
  }
  EXPECT_EQ(models.size(), 60u);
  std::sort(models.begin(), models.end());
  for (const std::string& model : models) arguments.insert(arguments.end(), {"--model", model});
  return arguments;
}

TEST(PlanModelsTest, EveryOpOfEveryModelAndEngineIsPlannedOrDeclinedByRule) {
  for (const std::string engine : {"vllm", "sglang", "hf", "trtllm"}) {
    const CommandResult result = RunCommand(PlanEverything(engine));
    ASSERT_EQ(result.exit_code, 0) << engine << ": " << result.err;
    int planned = 0;
    for (const auto& op : result.Json()) {
      if (!op.contains("declined")) {
        EXPECT_GT(op["search"]["best"]["cost"]["us"].get<double>(), 0) << engine << " " << op["op"];
        ++planned;
        continue;
      }
      EXPECT_THAT(op["declined"].get<std::string>(), MatchesRegex("[a-z_0-9]+: .+"))
          << engine << " " << op["op"];
    }
    EXPECT_GT(planned, 600) << engine;
  }
}

TEST(PlanModelsTest, BareAndEngineVariantsAreDifferentOps) {
  const std::string model = "bench/models/google--gemma-2-2b.json";
  const std::vector<std::string> plan = {"plan", "--gpu",   "h200-sxm", "--tokens",
                                         "8",    "--model", model};
  struct Case {
    std::vector<std::string> options;
    std::string op;
  };
  const std::string block = "ffn_gated_gelu_tanh_bf16_h2304_i9216";
  const Case cases[] = {
      {{}, block + "_rms_plus_one_add_before_norm, token tile 8"},
      {{"--engine", "hf"}, block + "_rms_plus_one_sandwich, token tile 8"},
      {{"--engine", "hf", "--residual", "none"}, block + "_rms_plus_one, token tile 8"},
      {{"--bare"}, block + ", token tile 8"},
      {{"--bare", "--residual", "add_after"}, block + "_add_after, token tile 8"},
      {{"--bare", "--bias", "down", "--rounding", "fused"}, block + "_down_bias_fused, token"},
      {{"--bare", "--dtype", "fp16"}, "ffn_gated_gelu_tanh_fp16_h2304_i9216, token tile 8"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = plan;
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    const CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(c.op));
  }
}

}  // namespace
}  // namespace fusebox
