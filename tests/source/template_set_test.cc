#include "src/source/template_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace fusebox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

TemplateSet Chain() {
  return TemplateSet::FromFiles({{"a.cuh", "// a\n#include \"b.cuh\"\n"},
                                 {"b.cuh", "// b\n#include \"c.cuh\"\n#include \"a.cuh\"\n"},
                                 {"c.cuh", "// c: twice, twice\n"},
                                 {"d.cuh", "// d\n"}});
}

TEST(TemplateSetTest, ReplacedChangesTheOneOccurrenceInACopy) {
  const TemplateSet set = Chain();
  const TemplateSet changed = set.Replaced("d.cuh", "// d", "// e").value();
  EXPECT_EQ(changed.Find("d.cuh").value(), "// e\n");
  EXPECT_EQ(changed.Find("a.cuh").value(), set.Find("a.cuh").value());
  EXPECT_EQ(set.Find("d.cuh").value(), "// d\n");
}

TEST(TemplateSetTest, ReplacedRefusesATextThatIsNotThereOrNotUnique) {
  const TemplateSet set = Chain();
  EXPECT_THAT(std::string(set.Replaced("c.cuh", "thrice", "").status().message()),
              HasSubstr("does not contain: thrice"));
  EXPECT_THAT(std::string(set.Replaced("c.cuh", "twice", "").status().message()),
              HasSubstr("more than once: twice"));
  EXPECT_TRUE(absl::IsInvalidArgument(set.Replaced("c.cuh", "", "x").status()));
  EXPECT_TRUE(absl::IsNotFound(set.Replaced("z.cuh", "a", "b").status()));
}

TEST(TemplateSetTest, ReachableFromFollowsIncludesAndLeavesTheRest) {
  const TemplateSet reached = Chain().ReachableFrom("// text\n#include \"a.cuh\"\n").value();
  EXPECT_THAT(reached.files(), ElementsAre(Key("a.cuh"), Key("b.cuh"), Key("c.cuh")));
}

TEST(TemplateSetTest, ReachableFromRefusesAFileThatIsNotInTheSet) {
  EXPECT_TRUE(absl::IsNotFound(Chain().ReachableFrom("\n#include \"z.cuh\"\n").status()));
}

TEST(TemplateSetTest, EmbeddedTemplatesIncludeOnlyEachOther) {
  for (const auto& [path, text] : TemplateSet::Embedded().files()) {
    EXPECT_TRUE(TemplateSet::Embedded().ReachableFrom(text).ok()) << path;
    EXPECT_THAT(text, testing::Not(HasSubstr("#include <"))) << path;
  }
}

}  // namespace
}  // namespace fusebox
