// README.md must not drift from what it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

// The lines between "// README: begin" and "// README: end", less their indentation.
std::string ShownPart(const std::string& text) {
  const size_t marker = text.find("// README: begin\n");
  const size_t begin = text.find('\n', marker) + 1;
  const size_t indentation = text.find_first_not_of(' ', begin) - begin;
  const size_t end = text.rfind('\n', text.find("// README: end"));
  std::istringstream lines(text.substr(begin, end - begin));
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    shown += line.substr(std::min(indentation, line.size())) + "\n";
  }
  return shown;
}

TEST(ReadmeTest, TheExampleIsTheFileThatIsCompiled) {
  const std::string example = ReadText("examples/decode_loop/fused_layers.h");
  ASSERT_FALSE(example.empty());
  EXPECT_THAT(ReadText("README.md"), HasSubstr("```cpp\n" + example + "```"));
}

TEST(ReadmeTest, TheExampleIsShort) {
  const std::string example = ReadText("examples/decode_loop/fused_layers.h");
  EXPECT_LE(std::count(example.begin(), example.end(), '\n'), 45);
}

TEST(ReadmeTest, TheLoopIsThatOfTheProgramThatIsTested) {
  const std::string loop = ShownPart(ReadText("examples/decode_loop/decode_loop.cc"));
  ASSERT_THAT(loop, HasSubstr("fused.Enqueue("));
  ASSERT_THAT(loop, HasSubstr("own.Enqueue("));
  EXPECT_THAT(ReadText("README.md"), HasSubstr("```cpp\n" + loop + "```"));
}

TEST(ReadmeTest, NamesTheTwoCommands) {
  EXPECT_THAT(ReadText("README.md"), HasSubstr("scripts/run.sh"));
  EXPECT_THAT(ReadText("README.md"), HasSubstr("scripts/test.sh"));
}

}  // namespace
}  // namespace fusebox
