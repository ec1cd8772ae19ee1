// Broken config.json texts: each ends in a model within limits or in a sentence, never in a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/model/model_ffn.h"
#include "src/model/model_ops.h"
#include "tests/fuzz/text_mutator.h"

namespace fusebox {
namespace {

constexpr int kVariantsPerSeed = 3000;  // about 4 s in a debug build

constexpr std::array<std::string_view, 4> kEngineNames = {"vllm", "sglang", "hf", "trtllm"};

std::vector<std::string> SeedTexts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("bench/models"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

void ExpectSentence(const absl::Status& status, const std::string& text) {
  EXPECT_TRUE(IsDeclined(status) || status.code() == absl::StatusCode::kInvalidArgument)
      << status << "\n"
      << text;
  EXPECT_FALSE(status.message().empty()) << text;
  EXPECT_LE(status.message().size(), 600u) << text;
  for (const char c : status.message()) {
    ASSERT_TRUE(static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 127)
        << status << "\n"
        << text;
  }
}

TEST(ModelConfigFuzzTest, AnyTextGivesAModelWithinLimitsOrASentence) {
  const std::vector<std::string> seeds = SeedTexts();
  ASSERT_GE(seeds.size(), 60u);
  int accepted = 0;
  for (size_t seed = 0; seed < seeds.size(); ++seed) {
    TextMutator mutator(seed);
    for (int variant = 0; variant < kVariantsPerSeed; ++variant) {
      const std::string text = mutator.Mutate(seeds[seed]);
      const absl::StatusOr<ModelFfn> model = ParseModelConfig(text);
      if (!model.ok()) {
        ExpectSentence(model.status(), text);
        continue;
      }
      ++accepted;
      EXPECT_GT(model->hidden.value(), 0) << text;
      EXPECT_LE(model->hidden.value(), kMaxDim) << text;
      EXPECT_FALSE(model->blocks.empty()) << text;
      for (const FfnBlock& block : model->blocks) {
        EXPECT_GT(block.intermediate.value(), 0) << text;
        EXPECT_LE(block.intermediate.value(), kMaxDim) << text;
        EXPECT_GT(block.num_layers, 0) << text;
      }
      EXPECT_GT(model->norm_eps, 0) << text;
      const auto ops = OpsForModel(
          *model, {.engine = FindEnginePreset(kEngineNames[variant % kEngineNames.size()]).value(),
                   .tensor_parallel = {1, 2, 3, 8},
                   .tokens = {1, 8, 31, 32, kMaxTokens + 1}});
      ASSERT_TRUE(ops.ok()) << ops.status();
      for (const ModelOp& op : *ops) {
        if (!op.op.ok()) ExpectSentence(op.op.status(), text);
      }
    }
  }
  EXPECT_GT(accepted,
            1000);  // else the mutations break everything and the deeper checks see nothing
}

}  // namespace
}  // namespace fusebox
