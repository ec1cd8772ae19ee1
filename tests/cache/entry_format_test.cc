#include "runtime/cache/entry_format.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
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
    const absl::Status status = DecodeEntry(changed, kernel.cubin).status();
    ASSERT_TRUE(absl::IsDataLoss(status) || IsStale(status)) << "bit " << i;  // the schema's digit
  }
}

// Another text under the same schema would make every entry of older builds count as damaged: raise
// kEntrySchema, then paste the new text here.
TEST(EntryFormatTest, TheTextOfMetaIsThatOfItsSchema) {
  static_assert(kEntrySchema == 3);
  std::string text = EncodeMeta(SmallKernel(), MadeUpKernel());
  for (std::string_view key : {"checksum", "digest", "plan_checksum", "source_checksum"}) {
    const std::string start = absl::StrCat("  \"", key, "\": \"");
    const size_t at = text.find(start);
    ASSERT_NE(at, std::string::npos) << key;
    text.replace(at + start.size(), 32, "*");  // 32 hex digits; they follow the templates
  }
  EXPECT_EQ(text, R"({
  "architecture": "sm_90a",
  "checksum": "*",
  "cubin_bytes": 3016,
  "digest": "*",
  "entry": "small",
  "launch": {
    "cluster_size": 8,
    "cooperative": false,
    "dynamic_smem_bytes": 200000,
    "grid_ctas": 16,
    "threads": 384
  },
  "name": "small_0",
  "nvrtc": {
    "major": 13,
    "version": "13.0"
  },
  "plan_checksum": "*",
  "resources": {
    "registers": 168,
    "setmaxnreg_ignored": false,
    "spill_load_bytes": 0,
    "spill_store_bytes": 0,
    "stack_bytes": 0,
    "static_smem_bytes": 0
  },
  "schema": 3,
  "source_checksum": "*",
  "workspace_bytes": 4096
}
)");
}

TEST(EntryFormatTest, AnotherSchemaIsStaleAndNotDamaged) {
  // As the first builds wrote it: schema 1, and a field that is gone.
  const std::string old = R"({"schema": 1, "launch": {"resident_ctas_per_sm": 1}})";
  EXPECT_TRUE(IsStale(DecodeMeta(old).status())) << DecodeMeta(old).status();
  EXPECT_TRUE(IsStale(DecodeMeta(R"({"schema": 4})").status()));
  EXPECT_FALSE(IsStale(DecodeMeta(R"({"schema": 3})").status()));
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
                                "{\"schema\": 3, \"digest\": 7}",
                                "{\"launch\": []}",
                                "{\"launch\": {\"grid_ctas\": 99999999999999999999}}"};
  for (const char* text : kTexts) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeMeta(text).status())) << text;
  }
}

}  // namespace
}  // namespace fusebox
