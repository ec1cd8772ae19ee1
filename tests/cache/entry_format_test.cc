#include "runtime/cache/entry_format.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/compile/small_kernel.h"

namespace fusebox {
namespace {

TEST(EntryFormatTest, DecodesWhatWasEncoded) {
  const KernelSource source = SmallKernel();
  const CompiledKernel kernel = MadeUpKernel();
  const auto meta = DecodeEntry(EncodeMeta(source, kernel), kernel.cubin);
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->digest, source.Digest().ToHex());
  EXPECT_EQ(meta->name, source.name);
  EXPECT_EQ(meta->launch, source.launch);
  EXPECT_EQ(meta->workspace_bytes, source.workspace_bytes);
  EXPECT_EQ(meta->resources, kernel.resources);
}

TEST(EntryFormatTest, RefusesEveryFlippedBitOfTheMetadata) {
  const CompiledKernel kernel = MadeUpKernel();
  const std::string text = EncodeMeta(SmallKernel(), kernel);
  for (size_t i = 0; i < text.size() * 8; ++i) {
    std::string changed = text;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
    ASSERT_TRUE(absl::IsDataLoss(DecodeEntry(changed, kernel.cubin).status())) << "bit " << i;
  }
}

TEST(EntryFormatTest, RefusesEveryFlippedBitOfTheCubin) {
  const CompiledKernel kernel = MadeUpKernel();
  const std::string text = EncodeMeta(SmallKernel(), kernel);
  for (size_t i = 0; i < kernel.cubin.size() * 8; i += 5) {
    std::string changed = kernel.cubin;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
    ASSERT_TRUE(absl::IsDataLoss(DecodeEntry(text, changed).status())) << "bit " << i;
  }
}

TEST(EntryFormatTest, RefusesEveryTruncationOfTheMetadata) {
  const CompiledKernel kernel = MadeUpKernel();
  const std::string text = EncodeMeta(SmallKernel(), kernel);
  for (size_t size = 0; size < text.size(); ++size) {
    ASSERT_TRUE(absl::IsDataLoss(DecodeEntry(text.substr(0, size), kernel.cubin).status())) << size;
  }
}

TEST(EntryFormatTest, RefusesWrongTypesAndAbsurdNumbers) {
  const char* const kTexts[] = {"",
                                "[]",
                                "null",
                                "{}",
                                "{\"schema\": \"1\"}",
                                "{\"schema\": 1e300}",
                                "{\"schema\": 1, \"digest\": 7}",
                                "{\"launch\": []}",
                                "{\"launch\": {\"grid_ctas\": 99999999999999999999}}"};
  for (const char* text : kTexts) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeMeta(text).status())) << text;
  }
}

}  // namespace
}  // namespace fusebox
