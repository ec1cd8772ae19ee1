// Broken manifests: each ends in entries that print and parse back to themselves or in a sentence,
// never in a crash.
#include <gtest/gtest.h>

#include <string>

#include "src/model/manifest.h"
#include "tests/fuzz/text_mutator.h"

namespace fusebox {
namespace {

constexpr int kVariants = 20000;

TEST(ManifestFuzzTest, AnyTextGivesEntriesThatPrintBackOrASentence) {
  const ManifestEntry entry = {
      .profile = "h200-sxm",
      .op = {.problem = {.hidden = DimK(64), .intermediate = DimN(128)}, .token_tile = 16}};
  const std::string seed = ManifestLine(entry) + ManifestLine(entry);
  TextMutator mutator(11);
  int accepted = 0;
  for (int variant = 0; variant < kVariants; ++variant) {
    const std::string text = mutator.Mutate(seed);
    const auto entries = ParseManifest(text);
    if (!entries.ok()) {
      EXPECT_EQ(entries.status().message().substr(0, 5), "line ") << text;
      EXPECT_EQ(entries.status().message().find('\n'), std::string::npos) << text;
      continue;
    }
    ++accepted;
    std::string printed;
    for (const ManifestEntry& read : *entries) printed += ManifestLine(read);
    const auto again = ParseManifest(printed);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(*again, *entries) << text;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace fusebox
