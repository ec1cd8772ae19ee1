#include "src/source/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusebox {
namespace {

using testing::HasSubstr;

TEST(RenderTest, ReplacesEveryPlaceholderByName) {
  EXPECT_EQ(Render("a ${x} b ${y} ${x}", {{"x", "1"}, {"y", "2"}}).value(), "a 1 b 2 1");
}

TEST(RenderTest, LeavesTextWithoutPlaceholdersAlone) {
  EXPECT_EQ(Render("int a[] = {1}; // $ {x}", {}).value(), "int a[] = {1}; // $ {x}");
}

TEST(RenderTest, DoesNotRenderWhatAValueBrings) {
  EXPECT_EQ(Render("${x}", {{"x", "${y}"}}).value(), "${y}");
}

TEST(RenderTest, RefusesAPlaceholderWithoutValue) {
  EXPECT_THAT(std::string(Render("${missing}", {}).status().message()),
              HasSubstr("${missing} has no value"));
}

TEST(RenderTest, RefusesAValueWithoutPlaceholder) {
  EXPECT_THAT(std::string(Render("text", {{"extra", "1"}}).status().message()),
              HasSubstr("extra has no placeholder"));
}

TEST(RenderTest, RefusesAPlaceholderThatNeverCloses) {
  EXPECT_THAT(std::string(Render("ab ${x", {{"x", "1"}}).status().message()),
              HasSubstr("byte 3 has no closing brace"));
}

}  // namespace
}  // namespace fusebox
