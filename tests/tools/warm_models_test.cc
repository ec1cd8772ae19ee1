// Every model of bench/models, at the tensor-parallel degrees that its dims allow: compiled without
// spills or declined by a named rule, and found again without NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/compile/nvrtc_api.h"
#include "runtime/config/config.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::MatchesRegex;

std::vector<std::string> WarmEverything(const std::string& root) {
  std::vector<std::string> arguments = {"warm",      "--gpu",       "h200-sxm", "--tokens",
                                        "1,8,16,32", "--tp",        "1,2,4,8",  "--ignore-bias",
                                        "--json",    "--cache-dir", root};
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator("bench/models")) {
    if (entry.path().extension() == ".json") models.push_back(entry.path().string());
  }
  std::sort(models.begin(), models.end());
  for (const std::string& model : models) arguments.insert(arguments.end(), {"--model", model});
  return arguments;
}

TEST(WarmModelsTest, EveryModelIsCompiledWithoutSpillsOrDeclinedByRule) {
  const absl::StatusOr<Config> config = ReadConfig(Environment::OfProcess());
  ASSERT_TRUE(config.ok()) << config.status();
  if (!LoadNvrtc(config->toolkit_places, config->nvrtc_path).ok()) GTEST_SKIP() << "no NVRTC here";

  const TemporaryFolder root;
  const CommandResult first = RunCommand(WarmEverything(root.path()));
  ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
  const nlohmann::json made = first.Json();
  EXPECT_EQ(made["models"].size(), 11u);
  EXPECT_EQ(made["totals"]["failed"], 0);
  EXPECT_GE(made["totals"]["compiled"], 100);
  for (const auto& kernel : made["kernels"]) {
    if (kernel["outcome"] == "declined") {
      EXPECT_THAT(kernel["rule"].get<std::string>(), MatchesRegex("[a-z_0-9]+"));
      EXPECT_NE(kernel["sentence"], "");
      continue;
    }
    EXPECT_EQ(kernel["outcome"], "compiled") << kernel;
    EXPECT_EQ(kernel["stack_bytes"], 0) << kernel;
    EXPECT_EQ(kernel["spill_store_bytes"], 0) << kernel;
    EXPECT_EQ(kernel["spill_load_bytes"], 0) << kernel;
  }

  const CommandResult second =
      RunCommand(WarmEverything(root.path()), {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  EXPECT_EQ(second.exit_code, 0) << second.err << second.out;
  EXPECT_EQ(second.Json()["totals"]["compiled"], 0);
  EXPECT_EQ(second.Json()["totals"]["cached"], made["totals"]["compiled"]);
}

}  // namespace
}  // namespace fusebox
