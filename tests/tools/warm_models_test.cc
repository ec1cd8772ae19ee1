// One model of each kind of family, as vLLM and as transformers ask for it: compiled without spills
// or declined by a named rule, and found again without NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::MatchesRegex;

std::vector<std::string> WarmEverything(const std::string& engine, const std::string& root) {
  std::vector<std::string> arguments = {"warm",     "--gpu",   "h200-sxm", "--engine",    engine,
                                        "--tokens", "1,16,32", "--json",   "--cache-dir", root};
  for (const std::string model :
       {"meta-llama--Llama-3.2-1B", "google--gemma-2-2b", "facebook--opt-125m",
        "openai-community--gpt2", "bigscience--bloom-560m", "EleutherAI--pythia-2.8b",
        "microsoft--phi-2", "tiiuae--falcon-7b", "stabilityai--stablelm-3b-4e1t",
        "THUDM--chatglm3-6b", "Qwen--Qwen1.5-MoE-A2.7B", "deepseek-ai--DeepSeek-V2-Lite",
        "deepseek-ai--DeepSeek-V3", "openai--gpt-oss-120b"}) {
    arguments.insert(arguments.end(), {"--model", "bench/models/" + model + ".json"});
  }
  return arguments;
}

TEST(WarmModelsTest, EveryModelIsCompiledWithoutSpillsOrDeclinedByRule) {
  const TemporaryFolder root;
  int compiled = 0;
  int declined = 0;
  for (const std::string engine : {"vllm", "hf"}) {
    const CommandResult first = RunCommand(WarmEverything(engine, root.path()));
    ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
    const nlohmann::json made = first.Json();
    EXPECT_EQ(made["models"].size(), 14u);
    EXPECT_EQ(made["totals"]["failed"], 0);
    compiled += made["totals"]["compiled"].get<int>();
    declined += made["totals"]["declined"].get<int>();
    for (const auto& kernel : made["kernels"]) {
      if (kernel["outcome"] == "declined") {
        EXPECT_THAT(kernel["rule"].get<std::string>(), MatchesRegex("[a-z_0-9]+"));
        EXPECT_NE(kernel["sentence"], "");
        continue;
      }
      EXPECT_EQ(kernel["stack_bytes"], 0) << kernel;
      EXPECT_EQ(kernel["spill_store_bytes"], 0) << kernel;
      EXPECT_EQ(kernel["spill_load_bytes"], 0) << kernel;
    }

    const CommandResult second =
        RunCommand(WarmEverything(engine, root.path()), {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
    EXPECT_EQ(second.exit_code, 0) << second.err << second.out;
    EXPECT_EQ(second.Json()["totals"]["compiled"], 0);
  }
  EXPECT_GE(compiled, 50);
  EXPECT_GE(declined, 4);  // two quantised models, gpt-oss, and GPT-2 as transformers keeps it
}

}  // namespace
}  // namespace fusebox
