#include "runtime/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Config> Read(std::map<std::string, std::string> variables) {
  return ReadConfig(Environment::FromVariables(std::move(variables)));
}

TEST(ConfigTest, HasTheTablesDefaultsInAnEmptyEnvironment) {
  const auto config = Read({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->ffn_enabled);
  EXPECT_EQ(config->compile_mode, CompileMode::kBackground);
  EXPECT_EQ(config->compile_threads, 2);
  EXPECT_EQ(config->log_level, LogLevel::kWarn);
  EXPECT_EQ(config->pdl, PdlMode::kOn);
  EXPECT_TRUE(config->cache_dirs.empty());
  EXPECT_TRUE(config->warnings.empty());
}

TEST(ConfigTest, TakesEverySpellingOfASwitch) {
  const std::pair<const char*, PdlMode> cases[] = {
      {"0", PdlMode::kOff},   {"1", PdlMode::kOn},    {"false", PdlMode::kOff},
      {"true", PdlMode::kOn}, {"off", PdlMode::kOff}, {"on", PdlMode::kOn},
      {"no", PdlMode::kOff},  {"yes", PdlMode::kOn},  {"OFF", PdlMode::kOff}};
  for (const auto& [word, mode] : cases) {
    const auto config = Read({{"FUSEBOX_PDL", word}});
    ASSERT_TRUE(config.ok()) << word;
    EXPECT_EQ(config->pdl, mode) << word;
  }
}

TEST(ConfigTest, DeclinesSlowerPlansUnlessToldOtherwise) {
  EXPECT_TRUE(Read({}).value().decline_slower);
  EXPECT_TRUE(Read({{"FUSEBOX_DECLINE_SLOWER", "1"}}).value().decline_slower);
  EXPECT_FALSE(Read({{"FUSEBOX_DECLINE_SLOWER", "0"}}).value().decline_slower);
}

TEST(ConfigTest, RefusesABadValueWithASentenceThatNamesTheAcceptedOnes) {
  const struct {
    const char* name;
    const char* value;
    const char* accepted;
  } cases[] = {{"FUSEBOX_PDL", "2", "0, 1, false, true, off, on, no or yes"},
               {"FUSEBOX_DECLINE_SLOWER", "2", "0, 1, false, true, off, on, no or yes"},
               {"FUSEBOX_COMPILE", "later", "background, block or never"},
               {"FUSEBOX_COMPILE_THREADS", "0", "a whole number from 1 to 64"},
               {"FUSEBOX_SHADOW", "-1", "a whole number from 0 to 1000000000"},
               {"FUSEBOX_SHADOW", "often", "a whole number from 0 to 1000000000"},
               {"FUSEBOX_COMPILE_THREADS", "two", "a whole number from 1 to 64"},
               {"FUSEBOX_LOG_LEVEL", "loud", "trace, debug, info, warn, error or off"},
               {"FUSEBOX_ENABLE", "ffn,attention", "0, 1 or a comma list of ops (ffn)"}};
  for (const auto& [name, value, accepted] : cases) {
    const auto config = Read({{name, value}});
    ASSERT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(config.status().message(),
              std::string(name) + "=" + value + " is not accepted; use " + accepted);
  }
}

TEST(ConfigTest, ReadsTheListOfEnabledOps) {
  EXPECT_FALSE(Read({{"FUSEBOX_ENABLE", "0"}})->ffn_enabled);
  EXPECT_TRUE(Read({{"FUSEBOX_ENABLE", "ffn"}})->ffn_enabled);
  EXPECT_FALSE(Read({{"FUSEBOX_ENABLE", "off"}})->ffn_enabled);
}

TEST(ConfigTest, TreatsAnEmptyVariableAsNotSet) {
  const auto config = Read({{"FUSEBOX_COMPILE", ""}, {"FUSEBOX_PDL", ""}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->compile_mode, CompileMode::kBackground);
}

TEST(ConfigTest, FindsCacheRootsInOrderOfPrecedence) {
  EXPECT_THAT(Read({{"FUSEBOX_CACHE_DIR", "/a:/b::/c"}, {"HOME", "/h"}})->cache_dirs,
              ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(Read({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}})->cache_dirs,
              ElementsAre("/x/fusebox"));
  EXPECT_THAT(Read({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}})->cache_dirs,
              ElementsAre("/h/.cache/fusebox"));
}

TEST(ConfigTest, TakesTheKnobsForDebuggingAsTheyAre) {
  const auto config = Read({{"FUSEBOX_RECORD", "/r"},
                            {"FUSEBOX_FORCE_PLAN", "@/p"},
                            {"FUSEBOX_TEMPLATE_DIR", "/t"},
                            {"FUSEBOX_DUMP_DIR", "/d"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->record_file, "/r");
  EXPECT_EQ(config->force_plan, "@/p");
  EXPECT_EQ(config->template_dir, "/t");
  EXPECT_EQ(config->dump_dir, "/d");
}

TEST(ConfigTest, WarnsOncePerUnknownName) {
  const auto config = Read({{"FUSEBOX_CACHEDIR", "/a"}, {"FUSEBOX_PDL", "1"}, {"OTHER", "1"}});
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_THAT(config->warnings[0], HasSubstr("FUSEBOX_CACHEDIR is no knob"));
}

TEST(ConfigTest, ReadsEveryKnobOfTheTable) {
  for (const Knob& knob : Knobs()) {
    const auto config = Read({{std::string(knob.name), ""}});
    ASSERT_TRUE(config.ok()) << knob.name;
    EXPECT_TRUE(config->warnings.empty()) << knob.name;
    EXPECT_FALSE(knob.description.empty()) << knob.name;
  }
}

TEST(ConfigTest, KeepsTheOrderInWhichToolkitsAreLookedFor) {
  const auto config =
      Read({{"CUDA_HOME", "/c1"}, {"CUDA_PATH", "/c2"}, {"VIRTUAL_ENV", "/v"}, {"HOME", "/h"}});
  ASSERT_TRUE(config.ok());
  EXPECT_THAT(config->toolkit_places.cuda_homes, ElementsAre("/c1", "/c2", "/usr/local/cuda"));
  EXPECT_THAT(config->toolkit_places.python_prefixes,
              ElementsAre("/v", "/h/.local", "/usr/local", "/usr"));
}

TEST(EnvironmentTest, SeesTheProcessesVariables) {
  ASSERT_EQ(setenv("FUSEBOX_TEST_VARIABLE", "a=b", 1), 0);
  EXPECT_EQ(Environment::OfProcess().Get("FUSEBOX_TEST_VARIABLE"), "a=b");
  unsetenv("FUSEBOX_TEST_VARIABLE");
  EXPECT_EQ(Environment::OfProcess().Get("FUSEBOX_TEST_VARIABLE"), "");
}

}  // namespace
}  // namespace fusebox
