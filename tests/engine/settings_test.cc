#include "runtime/engine/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/engine/counters.h"
#include "runtime/engine/last_error.h"
#include "runtime/engine/struct_size.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;

const Environment& SomeEnvironment() {
  static const Environment* const environment =
      new Environment(Environment::FromVariables({{"FUSEBOX_COMPILE", "never"},
                                                  {"FUSEBOX_COMPILE_THREADS", "7"},
                                                  {"FUSEBOX_PDL", "0"},
                                                  {"FUSEBOX_DECLINE_SLOWER", "0"},
                                                  {"FUSEBOX_LOG_LEVEL", "error"},
                                                  {"FUSEBOX_DEVICE_PROFILE", "gh200"},
                                                  {"FUSEBOX_CACHE_DIR", "/environment"}}));
  return *environment;
}

TEST(SettingsTest, TakesTheEnvironmentWithoutOptions) {
  const auto settings = MakeSettings(nullptr, SomeEnvironment());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->device_ordinal, 0);
  EXPECT_EQ(settings->config.compile_mode, CompileMode::kNever);
  EXPECT_EQ(settings->config.compile_threads, 7);
  EXPECT_EQ(settings->config.pdl, PdlMode::kOff);
  EXPECT_FALSE(settings->config.decline_slower);
  EXPECT_EQ(settings->config.device_profile, "gh200");
}

TEST(SettingsTest, ZeroedOptionsChangeNothing) {
  const fusebox_engine_options options = {.struct_size = sizeof(options)};
  const auto settings = MakeSettings(&options, SomeEnvironment());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->config.compile_mode, CompileMode::kNever);
  EXPECT_EQ(settings->config.log_level, LogLevel::kError);
  EXPECT_FALSE(settings->config.decline_slower);
  EXPECT_THAT(settings->config.cache_dirs, ElementsAre("/environment"));
}

TEST(SettingsTest, OptionsBeatTheEnvironment) {
  fusebox_engine_options options = {.struct_size = sizeof(options), .device_ordinal = 3};
  options.device_profile = "h100-sxm";
  options.cache_dirs = "/option:/other";
  options.compile_mode = FUSEBOX_COMPILE_BLOCK;
  options.compile_threads = 3;
  options.pdl = FUSEBOX_SWITCH_ON;
  options.decline_slower = FUSEBOX_SWITCH_ON;
  options.log_level = FUSEBOX_LOG_TRACE;
  const auto settings = MakeSettings(&options, SomeEnvironment());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->device_ordinal, 3);
  EXPECT_EQ(settings->config.device_profile, "h100-sxm");
  EXPECT_THAT(settings->config.cache_dirs, ElementsAre("/option", "/other"));
  EXPECT_EQ(settings->config.compile_mode, CompileMode::kBlock);
  EXPECT_EQ(settings->config.compile_threads, 3);
  EXPECT_EQ(settings->config.pdl, PdlMode::kOn);
  EXPECT_TRUE(settings->config.decline_slower);
  EXPECT_EQ(settings->config.log_level, LogLevel::kTrace);
}

// A struct of two versions, as the C API's will be one day.
struct Grown {
  size_t struct_size;
  int64_t first;
  int64_t second;  // appended in the second version
};

}  // namespace

template <>
struct KnownSizes<Grown> {
  static constexpr size_t kSizes[] = {16, sizeof(Grown)};
};

namespace {

TEST(StructSizeTest, AnOlderCallersStructWorks) {
  const Grown old = {.struct_size = 16, .first = 5, .second = 99};  // 99 lies beyond his struct
  Grown read;
  ASSERT_TRUE(ReadStruct(&old, "grown", &read).ok());
  EXPECT_EQ(read.first, 5);
  EXPECT_EQ(read.second, 0);
}

TEST(StructSizeTest, SizesThatNoVersionHadAreRefused) {
  for (const size_t size : {size_t{0}, size_t{8}, size_t{15}, size_t{17}, size_t{32}, SIZE_MAX}) {
    const Grown wrong = {.struct_size = size, .first = 0, .second = 0};
    Grown read;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadStruct(&wrong, "grown", &read))) << size;
  }
}

TEST(LastErrorTest, MapsEveryKindOfStatus) {
  EXPECT_EQ(CodeOf(absl::OkStatus()), FUSEBOX_OK);
  EXPECT_EQ(CodeOf(absl::UnimplementedError("")), FUSEBOX_DECLINED);
  EXPECT_EQ(CodeOf(absl::UnavailableError("")), FUSEBOX_NOT_READY);
  EXPECT_EQ(CodeOf(absl::DeadlineExceededError("")), FUSEBOX_NOT_READY);
  EXPECT_EQ(CodeOf(absl::InvalidArgumentError("")), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(absl::FailedPreconditionError("")), FUSEBOX_UNAVAILABLE);
  EXPECT_EQ(CodeOf(absl::DataLossError("")), FUSEBOX_UNAVAILABLE);
  EXPECT_EQ(CodeOf(absl::ResourceExhaustedError("")), FUSEBOX_OUT_OF_MEMORY);
  EXPECT_EQ(CodeOf(absl::InternalError("")), FUSEBOX_INTERNAL);
}

TEST(LastErrorTest, CutsAMessageThatIsTooLong) {
  EXPECT_EQ(RecordFailure(FUSEBOX_INTERNAL, std::string(100000, 'x')), FUSEBOX_INTERNAL);
  EXPECT_EQ(std::strlen(LastErrorMessage()), 2047u);
}

TEST(LastErrorTest, KeepsTheLastFailureAcrossSuccesses) {
  (void)Record(absl::InternalError("first"));
  (void)Record(absl::OkStatus());
  EXPECT_STREQ(LastErrorMessage(), "first");
}

TEST(CountersTest, HaveAFieldOfTheCApiEach) {
  EngineCounters counters;
  counters.launches.Add(3);
  counters.compile_microseconds.Add(9);
  fusebox_engine_stats_values values = {.struct_size = sizeof(values)};
  ReadCounters(counters, &values);
  EXPECT_EQ(values.launches, 3u);
  EXPECT_EQ(values.compile_microseconds, 9u);
  EXPECT_EQ(values.struct_size, sizeof(values));
}

}  // namespace
}  // namespace fusebox
