#include "src/model/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ManifestEntry Entry(int token_tile, std::string profile = "h200-sxm") {
  return {.profile = std::move(profile),
          .op = {.problem = {.hidden = DimK(4096),
                             .intermediate = DimN(12288),
                             .residual_mode = ResidualMode::kAddBeforeNorm,
                             .norm = Norm::kRms},
                 .token_tile = token_tile}};
}

TEST(ManifestTest, ALineIsReadBackAsItsEntry) {
  const std::string text = ManifestLine(Entry(8)) + ManifestLine(Entry(16, "gh200"));
  const auto entries = ParseManifest(text);
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_THAT(*entries, ElementsAre(Entry(8), Entry(16, "gh200")));
}

TEST(ManifestTest, ALineSpellsTheVersionFirst) {
  EXPECT_EQ(
      ManifestLine(Entry(8)),
      std::string(kManifestBeginning) +
          "1,\"profile\":\"h200-sxm\",\"problem\":{\"op\":\"ffn\",\"hidden\":4096,"
          "\"intermediate\":12288,\"dtype\":\"bf16\",\"activation\":\"silu\",\"form\":\"gated\","
          "\"residual_mode\":\"add_before_norm\",\"norm\":\"rms\",\"rounding\":\"engine\","
          "\"up_bias\":0,\"down_bias\":0,\"layout\":\"out_in\"},\"token_tile\":8}\n")
      << "a change of the lines raises kManifestVersion";
}

TEST(ManifestTest, EntriesOfSeveralWritersAreListedOnce) {
  const std::string text = absl::StrCat(ManifestLine(Entry(16)), "\n", ManifestLine(Entry(8)),
                                        ManifestLine(Entry(16)), ManifestLine(Entry(8)));
  EXPECT_THAT(ParseManifest(text).value(), ElementsAre(Entry(16), Entry(8)));
}

TEST(ManifestTest, ABadLineIsNamedWithItsFieldAndWhatIsAccepted) {
  const std::string good = ManifestLine(Entry(8));
  const struct {
    const char* from;
    const char* to;
    std::string sentence;
  } cases[] = {
      {"\"token_tile\":8", "\"token_tile\":12",
       absl::StrCat("line 2: token_tile is 12; accepted: ", absl::StrJoin(kTokenTiles, ", "))},
      {"\"token_tile\":8", "\"token_tile\":\"8\"",
       "line 2: token_tile is a string; an integer is expected"},
      {"bf16", "fp8", "line 2: problem.dtype is \"fp8\"; accepted: bf16, fp16"},
      {"4096", "0", "line 2: problem.hidden is 0; accepted: 1 to 1048576"},
      {"4096", "4100", "line 2: problem: dim_granule: hidden 4100 is not a multiple of 8"},
      {"\"norm\":\"rms\",", "\"norm\":\"none\",",
       "line 2: problem: ffn: residual mode add_before_norm needs a norm"},
      {"\"norm\":\"rms\",", "", "line 2: problem.norm is missing"},
      {"\"manifest\":1", "\"manifest\":2",
       "line 2: manifest is version 2; this build reads version 1: record again with it"},
      {"\"profile\"", "\"layers\":3,\"profile\"", "line 2: layers is no field that is known"},
      {"h200-sxm", "", "line 2: profile is an empty string"},
      {"}\n", "\n", "line 2: the text is not JSON from byte"},
      {"{\"manifest\"", "\xff{\"manifest\"", "line 2: the text is not JSON from byte 1 on"},
  };
  for (const auto& [from, to, sentence] : cases) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(bad, good) << from;
    const auto entries = ParseManifest(good + bad + good);
    ASSERT_TRUE(absl::IsInvalidArgument(entries.status())) << bad;
    EXPECT_THAT(std::string(entries.status().message()), HasSubstr(sentence));
  }
}

TEST(ManifestTest, AnEmptyTextListsNothing) {
  EXPECT_TRUE(ParseManifest("").value().empty());
  EXPECT_TRUE(ParseManifest("\n \r\n").value().empty());
}

}  // namespace
}  // namespace fusebox
