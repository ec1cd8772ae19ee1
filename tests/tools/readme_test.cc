// README.md must not drift from what it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

TEST(ReadmeTest, TheExampleIsTheFileThatIsCompiled) {
  const std::string example = ReadText("examples/decode_ffn.cc");
  ASSERT_FALSE(example.empty());
  EXPECT_THAT(ReadText("README.md"), HasSubstr("```cpp\n" + example + "```"));
}

TEST(ReadmeTest, TheExampleIsShort) {
  const std::string example = ReadText("examples/decode_ffn.cc");
  EXPECT_LE(std::count(example.begin(), example.end(), '\n'), 45);
}

TEST(ReadmeTest, NamesTheTwoCommands) {
  EXPECT_THAT(ReadText("README.md"), HasSubstr("scripts/run.sh"));
  EXPECT_THAT(ReadText("README.md"), HasSubstr("scripts/test.sh"));
}

}  // namespace
}  // namespace fusebox
