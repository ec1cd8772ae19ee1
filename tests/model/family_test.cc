#include "src/model/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/model/activation_name.h"
#include "src/model/model_ffn.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(FamilyTest, EachRowIsFoundAndHasAnActivationThatIsServedByDefault) {
  for (const Family& row : KnownFamilies()) {
    EXPECT_TRUE(ActivationByName(row.activation_field, row.default_activation).ok())
        << row.model_type;
    const auto by_type = FindFamily(row.model_type, "");
    ASSERT_TRUE(by_type.ok()) << row.model_type;
    EXPECT_EQ(by_type->model_type, row.model_type);
    EXPECT_TRUE(FindFamily("", absl::StrCat(row.class_prefix, "ForCausalLM")).ok())
        << row.model_type;
  }
}

TEST(FamilyTest, ClassNamesAreNotTakenForTheirPrefixes) {
  struct Case {
    std::string architecture;
    std::string family;
  };
  const Case cases[] = {
      {"Qwen2ForCausalLM", "qwen2"},
      {"Qwen2MoeForCausalLM", "qwen2_moe"},
      {"GemmaForCausalLM", "gemma"},
      {"Gemma2ForCausalLM", "gemma2"},
      {"PhiForCausalLM", "phi"},
      {"Phi3ForCausalLM", "phi3"},
      {"GPT2LMHeadModel", "gpt2"},
      {"ChatGLMModel", "chatglm"},
      {"DeepseekV3ForCausalLM", "deepseek_v3"},
  };
  for (const Case& c : cases) {
    const auto family = FindFamily("", c.architecture);
    ASSERT_TRUE(family.ok()) << c.architecture << ": " << family.status();
    EXPECT_EQ(family->model_type, c.family) << c.architecture;
  }
  EXPECT_TRUE(IsDeclined(FindFamily("", "LlamaForSequenceClassification").status()));
}

TEST(FamilyTest, FlagsOfTheConfigChangeOrderAndNorm) {
  struct Case {
    std::string fields;
    BlockOrder order;
    Norm norm;
  };
  const std::string dims = R"(, "num_hidden_layers": 2, "hidden_size": 64,
      "intermediate_size": 128, "ffn_dim": 128, "n_layer": 2, "num_layers": 2,
      "ffn_hidden_size": 128})";
  const Case cases[] = {
      {R"("opt")", BlockOrder::kPreNorm, Norm::kLayer},
      {R"("opt", "do_layer_norm_before": false)", BlockOrder::kNormedResidual, Norm::kLayer},
      {R"("gpt_neox")", BlockOrder::kParallelOwnNorm, Norm::kLayer},
      {R"("gpt_neox", "use_parallel_residual": false)", BlockOrder::kPreNorm, Norm::kLayer},
      {R"("falcon")", BlockOrder::kParallelSharedNorm, Norm::kLayer},
      {R"("falcon", "parallel_attn": false)", BlockOrder::kPreNorm, Norm::kLayer},
      {R"("falcon", "parallel_attn": false, "new_decoder_architecture": true)",
       BlockOrder::kParallelSharedNorm, Norm::kLayer},
      {R"("stablelm")", BlockOrder::kPreNorm, Norm::kLayer},
      {R"("stablelm", "use_parallel_residual": true)", BlockOrder::kParallelSharedNorm,
       Norm::kLayer},
      {R"("bloom", "apply_residual_connection_post_layernorm": true)", BlockOrder::kNormedResidual,
       Norm::kLayer},
      {R"("chatglm")", BlockOrder::kPreNorm, Norm::kRms},
      {R"("chatglm", "rmsnorm": false)", BlockOrder::kPreNorm, Norm::kLayer},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(R"({"model_type": )" + c.fields + dims);
    ASSERT_TRUE(model.ok()) << c.fields << ": " << model.status();
    EXPECT_EQ(model->order, c.order) << c.fields;
    EXPECT_EQ(model->norm, c.norm) << c.fields;
  }
}

// Layers by role: dense, expert, shared expert.
std::vector<int64_t> LayersOf(const std::string& config) {
  const auto model = ParseModelConfig(config);
  EXPECT_TRUE(model.ok()) << config << ": " << model.status();
  std::vector<int64_t> layers(3, 0);
  if (!model.ok()) return layers;
  for (const FfnBlock& block : model->blocks) {
    layers[static_cast<size_t>(block.role) - 1] = block.num_layers;
  }
  return layers;
}

TEST(FamilyTest, FieldsSayWhichLayersOfAMixtureAreDense) {
  const std::string dims =
      R"("num_hidden_layers": 10, "hidden_size": 64, "intermediate_size": 128,
         "moe_intermediate_size": 32, )";
  const std::string qwen = R"({"model_type": "qwen2_moe", "num_experts": 4, )" + dims;
  const std::string deepseek =
      R"({"model_type": "deepseek_v2", "n_routed_experts": 4, "n_shared_experts": 2, )" + dims;
  EXPECT_THAT(LayersOf(qwen + R"("mlp_only_layers": []})"), ElementsAre(0, 10, 0));
  EXPECT_THAT(LayersOf(qwen + R"("mlp_only_layers": [0, 9, 9, 77]})"), ElementsAre(2, 8, 0));
  EXPECT_THAT(LayersOf(qwen + R"("decoder_sparse_step": 4})"), ElementsAre(8, 2, 0));
  EXPECT_THAT(LayersOf(qwen + R"("shared_expert_intermediate_size": 64})"), ElementsAre(0, 10, 10));
  EXPECT_THAT(LayersOf(deepseek + R"("first_k_dense_replace": 3})"), ElementsAre(3, 7, 7));
  EXPECT_THAT(LayersOf(deepseek + R"("first_k_dense_replace": 0})"), ElementsAre(0, 10, 10));
  EXPECT_THAT(LayersOf(deepseek + R"("first_k_dense_replace": 3, "moe_layer_freq": 2})"),
              ElementsAre(7, 3, 3));
  EXPECT_THAT(LayersOf(deepseek + R"("first_k_dense_replace": 10})"), ElementsAre(10, 0, 0));
}

TEST(FamilyTest, AbsurdFieldsAreNamedForEveryKindOfFamily) {
  struct Case {
    std::string config;
    std::string sentence;
  };
  const std::string moe =
      R"("num_hidden_layers": 2, "hidden_size": 64, "moe_intermediate_size": 32, )";
  const std::string qwen = R"({"model_type": "qwen3_moe", "num_experts": 4, )" + moe;
  const std::string deepseek = R"({"model_type": "deepseek_v2", "n_routed_experts": 4, )" + moe;
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 2, )";
  const std::string llama = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
      "intermediate_size": 128, )";
  const Case cases[] = {
      {llama + R"("rms_norm_eps": 0})", "field rms_norm_eps is 0; a number between 0 and 1"},
      {llama + R"("rms_norm_eps": 1.5})", "field rms_norm_eps is 1.5; a number between 0 and 1"},
      {llama + R"("rms_norm_eps": "1e-5"})", "field rms_norm_eps is \"1e-5\" (a string); a number"},
      {gpt2 + R"("hidden_size": 64})", "field n_embd is missing"},
      {gpt2 + R"("n_embd": 1048576})", "field n_embd is 1048576; its block is four times as wide"},
      {gpt2 + R"("n_embd": 64, "n_inner": 0})", "field n_inner is 0; an integer"},
      {gpt2 + R"("n_embd": 64, "layer_norm_epsilon": -1})", "field layer_norm_epsilon is -1"},
      {R"({"model_type": "bloom", "n_layer": 2, "hidden_size": 0})", "field hidden_size is 0"},
      {R"({"model_type": "chatglm", "num_layers": 2, "hidden_size": 64, "ffn_hidden_size": 8,
          "rmsnorm": 1})",
       "field rmsnorm is 1; true or false"},
      {R"({"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": 64,
          "new_decoder_architecture": true, "parallel_attn": "yes"})",
       "field parallel_attn is \"yes\""},
      {R"({"model_type": "gemma3"})", "field text_config is missing; an object"},
      {R"({"model_type": "gemma3", "text_config": [1]})", "field text_config is an array"},
      {R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 2}})",
       "field hidden_size is missing"},
      {R"({"model_type": "mixtral", "num_hidden_layers": 2, "hidden_size": 64,
          "intermediate_size": 128})",
       "field num_local_experts is missing"},
      {qwen + R"("decoder_sparse_step": 0})", "field decoder_sparse_step is 0"},
      {qwen + R"("mlp_only_layers": 3})", "field mlp_only_layers is 3; an array of integers"},
      {qwen + R"("mlp_only_layers": [-1]})", "field mlp_only_layers is -1; an integer from 0"},
      {qwen + R"("mlp_only_layers": [0]})", "field intermediate_size is missing"},
      {deepseek + R"("n_shared_experts": -2})", "field n_shared_experts is -2"},
      {deepseek + R"("n_shared_experts": 1000000})",
       "field n_shared_experts is 1000000; an integer from 0 to 32768"},
      {deepseek + R"("first_k_dense_replace": 1.0})", "field first_k_dense_replace is 1.0"},
      {deepseek + R"("moe_layer_freq": [0, 1]})", "field moe_layer_freq is an array"},
      {R"({"model_type": "gpt_oss", "num_hidden_layers": 2, "hidden_size": -2880})",
       "field hidden_size is -2880"},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(c.config);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument)
        << c.config << ": " << model.status();
    EXPECT_THAT(std::string(model.status().message()), StartsWith(c.sentence)) << c.config;
  }
}

}  // namespace
}  // namespace fusebox
