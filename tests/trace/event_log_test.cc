#include "runtime/trace/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Line {
  int32_t level;
  std::string text;
};

void Collect(void* user, int32_t level, const char* line) {
  static_cast<std::vector<Line>*>(user)->push_back({level, line});
}

std::unique_ptr<EventLog> CollectingLog(LogLevel level, std::vector<Line>* lines) {
  auto log = EventLog::Create({.level = level, .callback = Collect, .user = lines});
  EXPECT_TRUE(log.ok());
  return *std::move(log);
}

TEST(EventLogTest, WritesOneLineOfKeysAndValues) {
  std::vector<Line> lines;
  const auto log = CollectingLog(LogLevel::kInfo, &lines);
  log->Write(LogLevel::kInfo, "compile", {{"kernel", "ffn"}, {"ms", 1.5}, {"regs", 168}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "stage=compile kernel=ffn ms=1.500 regs=168");
  EXPECT_EQ(lines[0].level, static_cast<int32_t>(LogLevel::kInfo));
}

TEST(EventLogTest, QuotesWhatWouldBreakALine) {
  std::vector<Line> lines;
  const auto log = CollectingLog(LogLevel::kInfo, &lines);
  log->Write(LogLevel::kWarn, "cache", {{"reason", "no \"space\"\nleft"}, {"empty", ""}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "stage=cache reason=\"no \\\"space\\\" left\" empty=\"\"");
}

TEST(EventLogTest, KeepsQuietBelowItsLevel) {
  std::vector<Line> lines;
  const auto log = CollectingLog(LogLevel::kWarn, &lines);
  EXPECT_FALSE(log->Enabled(LogLevel::kInfo));
  EXPECT_TRUE(log->Enabled(LogLevel::kError));
  log->Write(LogLevel::kInfo, "x", {});
  EXPECT_TRUE(lines.empty());
}

TEST(EventLogTest, SaysNothingAtAllWhenOff) {
  std::vector<Line> lines;
  const auto log = CollectingLog(LogLevel::kOff, &lines);
  log->Write(LogLevel::kError, "x", {});
  EXPECT_TRUE(lines.empty());
  EXPECT_FALSE(EventLog::Silent()->Enabled(LogLevel::kError));
}

TEST(EventLogTest, AppendsToItsFile) {
  const std::string path = testing::TempDir() + "/event_log_test.log";
  std::filesystem::remove(path);
  for (int run = 0; run < 2; ++run) {
    const auto log = EventLog::Create({.level = LogLevel::kInfo, .file = path});
    ASSERT_TRUE(log.ok());
    (*log)->Write(LogLevel::kInfo, "engine", {{"run", run}});
  }
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre(EndsWith("fusebox info stage=engine run=0"),
                                 EndsWith("fusebox info stage=engine run=1")));
}

TEST(EventLogTest, RefusesAFileThatCannotBeOpened) {
  const auto log = EventLog::Create({.file = "/nonexistent/folder/log"});
  ASSERT_EQ(log.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("FUSEBOX_LOG_FILE=/nonexistent"));
}

TEST(EventLogTest, RefusesAPipeThatNobodyReads) {
  const std::string path = testing::TempDir() + "/event_log_test.pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto log = EventLog::Create({.file = path});
  std::filesystem::remove(path);
  ASSERT_EQ(log.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("a pipe that nobody reads"));
}

TEST(EventLogTest, CallsNothingOnceTheCallbackIsDropped) {
  std::vector<Line> lines;
  const auto log = CollectingLog(LogLevel::kInfo, &lines);
  log->DropCallback();
  log->Write(LogLevel::kInfo, "x", {});
  EXPECT_TRUE(lines.empty());
}

TEST(EventLogTest, CallsTheCallbackFromOneThreadAtATime) {
  std::vector<Line> lines;  // unguarded on purpose: tsan sees a race if the calls overlap
  const auto log = CollectingLog(LogLevel::kInfo, &lines);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) log->Write(LogLevel::kInfo, "x", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.size(), 800u);
}

}  // namespace
}  // namespace fusebox
