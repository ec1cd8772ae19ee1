// The models of bench/models: what is read of each, and what each engine will ask for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/model/model_ffn.h"
#include "src/model/model_ops.h"

namespace fusebox {
namespace {

using ::testing::MatchesRegex;

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<ModelFfn> Parsed(const std::string& name) {
  return ParseModelConfig(FileText("bench/models/" + name + ".json"));
}

std::string OrderText(const ModelFfn& model) {
  switch (model.order) {
    case BlockOrder::kPreNorm:
      return model.residual == ResidualHabit::kCarried ? "pre" : "pre added";
    case BlockOrder::kSandwich:
      return "sandwich";
    case BlockOrder::kNormedResidual:
      return "normed_residual";
    case BlockOrder::kParallelOwnNorm:
      return "parallel_own";
    case BlockOrder::kParallelSharedNorm:
      return "parallel_shared";
  }
  return "unknown";
}

// "family layers hidden blocks form activation bias norm eps order dtype".
std::string Summary(const absl::StatusOr<ModelFfn>& model) {
  if (!model.ok()) {
    const std::string sentence(model.status().message());
    return absl::StrCat(IsDeclined(model.status()) ? "declined " : "",
                        sentence.substr(0, sentence.find(':')));
  }
  std::string blocks;
  for (const FfnBlock& block : model->blocks) {
    absl::StrAppend(&blocks, " ", block.num_layers, "x");
    if (block.role == FfnRole::kExpert) absl::StrAppend(&blocks, block.per_layer, " experts ");
    if (block.role == FfnRole::kSharedExpert) absl::StrAppend(&blocks, " shared ");
    absl::StrAppend(&blocks, block.intermediate.value());
  }
  return absl::StrCat(model->family, " ", model->num_layers, " ", model->hidden.value(), blocks,
                      " ", ToString(model->form), " ", ToString(model->activation),
                      model->biases == Biases::kPresent ? " bias " : " ", ToString(model->norm),
                      " ", model->norm_eps, " ", OrderText(*model), " ", ToString(model->dtype));
}

TEST(BenchModelsTest, EachIsReadAsItsAuthorsMeantIt) {
  struct Case {
    std::string model;
    std::string summary;
  };
  // clang-format off
  const Case cases[] = {
      {"01-ai--Yi-6B", "llama 32 4096 32x11008 gated silu rms 1e-05 pre bf16"},
      {"EleutherAI--gpt-j-6b", "gptj 28 4096 28x16384 plain gelu_new bias layer 1e-05 parallel_shared bf16"},
      {"EleutherAI--gpt-neox-20b", "gpt_neox 44 6144 44x24576 plain gelu_tanh bias layer 1e-05 parallel_own bf16"},
      {"EleutherAI--pythia-2.8b", "gpt_neox 32 2560 32x10240 plain gelu_erf bias layer 1e-05 parallel_own bf16"},
      {"HuggingFaceTB--SmolLM2-1.7B", "llama 24 2048 24x8192 gated silu rms 1e-05 pre bf16"},
      {"HuggingFaceTB--SmolLM2-135M", "llama 30 576 30x1536 gated silu rms 1e-05 pre bf16"},
      {"Qwen--Qwen1.5-MoE-A2.7B", "qwen2_moe 24 2048 24x60 experts 1408 24x shared 5632 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen2.5-0.5B", "qwen2 24 896 24x4864 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen2.5-1.5B-Instruct", "qwen2 28 1536 28x8960 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen2.5-32B", "qwen2 64 5120 64x27648 gated silu rms 1e-05 pre bf16"},
      {"Qwen--Qwen2.5-3B", "qwen2 36 2048 36x11008 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen2.5-72B-Instruct", "qwen2 80 8192 80x29568 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen2.5-7B", "qwen2 28 3584 28x18944 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-0.6B", "qwen3 28 1024 28x3072 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-1.7B", "qwen3 28 2048 28x6144 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-235B-A22B", "qwen3_moe 94 4096 94x128 experts 1536 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-30B-A3B", "qwen3_moe 48 2048 48x128 experts 768 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-32B", "qwen3 64 5120 64x25600 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-4B", "qwen3 36 2560 36x9728 gated silu rms 1e-06 pre bf16"},
      {"Qwen--Qwen3-8B", "qwen3 36 4096 36x12288 gated silu rms 1e-06 pre bf16"},
      {"THUDM--chatglm3-6b", "chatglm 28 4096 28x13696 gated silu rms 1e-05 pre added fp16"},
      {"TinyLlama--TinyLlama-1.1B-Chat-v1.0", "llama 22 2048 22x5632 gated silu rms 1e-05 pre bf16"},
      {"bigscience--bloom-560m", "bloom 24 1024 24x4096 plain gelu_tanh bias layer 1e-05 pre added bf16"},
      {"deepseek-ai--DeepSeek-R1", "declined quantization"},
      {"deepseek-ai--DeepSeek-V2-Lite", "deepseek_v2 27 2048 1x10944 26x64 experts 1408 26x shared 2816 gated silu rms 1e-06 pre bf16"},
      {"deepseek-ai--DeepSeek-V3", "declined quantization"},
      {"facebook--opt-1.3b", "opt 24 2048 24x8192 plain relu bias layer 1e-05 pre added bf16"},
      {"facebook--opt-125m", "opt 12 768 12x3072 plain relu bias layer 1e-05 pre added bf16"},
      {"facebook--opt-13b", "opt 40 5120 40x20480 plain relu bias layer 1e-05 pre added bf16"},
      {"facebook--opt-6.7b", "opt 32 4096 32x16384 plain relu bias layer 1e-05 pre added bf16"},
      {"google--gemma-2-27b", "gemma2 46 4608 46x36864 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"google--gemma-2-2b", "gemma2 26 2304 26x9216 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"google--gemma-2b", "gemma 18 2048 18x16384 gated gelu_tanh rms_plus_one 1e-06 pre bf16"},
      {"google--gemma-3-12b-it", "gemma3 48 3840 48x15360 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"google--gemma-3-1b-it", "gemma3_text 26 1152 26x6912 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"google--gemma-3-27b-it", "gemma3 62 5376 62x21504 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"google--gemma-3-4b-it", "gemma3 34 2560 34x10240 gated gelu_tanh rms_plus_one 1e-06 sandwich bf16"},
      {"internlm--internlm2-7b", "internlm2 32 4096 32x14336 gated silu rms 1e-05 pre bf16"},
      {"meta-llama--Llama-2-13b-hf", "llama 40 5120 40x13824 gated silu rms 1e-05 pre fp16"},
      {"meta-llama--Llama-2-70b-hf", "llama 80 8192 80x28672 gated silu rms 1e-05 pre fp16"},
      {"meta-llama--Llama-2-7b-hf", "llama 32 4096 32x11008 gated silu rms 1e-05 pre fp16"},
      {"meta-llama--Llama-3.1-405B", "llama 126 16384 126x53248 gated silu rms 1e-05 pre bf16"},
      {"meta-llama--Llama-3.1-70B", "llama 80 8192 80x28672 gated silu rms 1e-05 pre bf16"},
      {"meta-llama--Llama-3.1-8B", "llama 32 4096 32x14336 gated silu rms 1e-05 pre bf16"},
      {"meta-llama--Llama-3.2-1B", "llama 16 2048 16x8192 gated silu rms 1e-05 pre bf16"},
      {"meta-llama--Llama-3.2-3B", "llama 28 3072 28x8192 gated silu rms 1e-05 pre bf16"},
      {"microsoft--Phi-3-mini-4k-instruct", "phi3 32 3072 32x8192 gated silu rms 1e-05 pre bf16"},
      {"microsoft--Phi-4-mini-instruct", "phi3 32 3072 32x8192 gated silu rms 1e-05 pre bf16"},
      {"microsoft--phi-2", "phi 32 2560 32x10240 plain gelu_new bias layer 1e-05 parallel_shared fp16"},
      {"microsoft--phi-4", "phi3 40 5120 40x17920 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mistral-7B-v0.1", "mistral 32 4096 32x14336 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mistral-7B-v0.3", "mistral 32 4096 32x14336 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mistral-Nemo-Base-2407", "mistral 40 5120 40x14336 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mistral-Small-24B-Base-2501", "mistral 40 5120 40x32768 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mixtral-8x22B-v0.1", "mixtral 56 6144 56x8 experts 16384 gated silu rms 1e-05 pre bf16"},
      {"mistralai--Mixtral-8x7B-v0.1", "mixtral 32 4096 32x8 experts 14336 gated silu rms 1e-05 pre bf16"},
      {"openai--gpt-oss-120b", "declined clamped_swiglu"},
      {"openai-community--gpt2", "gpt2 12 768 12x3072 plain gelu_new bias layer 1e-05 pre added bf16"},
      {"stabilityai--stablelm-3b-4e1t", "stablelm 32 2560 32x6912 gated silu layer 1e-05 pre added bf16"},
      {"tiiuae--falcon-7b", "falcon 32 4544 32x18176 plain gelu_erf layer 1e-05 parallel_shared bf16"},
  };
  // clang-format on
  std::set<std::string> tested;
  for (const Case& c : cases) {
    EXPECT_EQ(Summary(Parsed(c.model)), c.summary) << c.model;
    tested.insert(c.model + ".json");
  }
  for (const auto& entry : std::filesystem::directory_iterator("bench/models")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_EQ(tested.count(entry.path().filename().string()), 1u) << entry.path();
  }
}

std::vector<ModelOp> Ops(const std::string& model, const std::string& engine, int64_t degree,
                         OpVariant variant = OpVariant::kEngine) {
  const auto ops = OpsForModel(Parsed(model).value(), {.engine = FindEnginePreset(engine).value(),
                                                       .tensor_parallel = {degree},
                                                       .tokens = {8},
                                                       .variant = variant});
  EXPECT_TRUE(ops.ok()) << ops.status();
  return ops.ok() ? *ops : std::vector<ModelOp>();
}

std::string OpNames(const std::vector<ModelOp>& ops) {
  std::string names;
  for (const ModelOp& op : ops) {
    const std::string refusal(op.op.status().message());
    absl::StrAppend(&names, names.empty() ? "" : " ", op.op.ok() ? "" : "declined ",
                    op.op.ok() ? op.name : refusal.substr(0, refusal.find(':')));
  }
  return names;
}

TEST(BenchModelsTest, EachEngineAsksForItsOwnOrderOfNormAndResidual) {
  struct Case {
    std::string model;
    std::string engine;
    int64_t degree;
    std::string ops;
  };
  const std::string llama = "meta-llama--Llama-3.1-8B";
  const std::string gemma = "google--gemma-2-2b";
  const std::string gemma_block = "ffn_gated_gelu_tanh_bf16_h2304_i9216_rms_plus_one";
  const std::string lite = "deepseek-ai--DeepSeek-V2-Lite";
  const std::string gpt2 = "openai-community--gpt2";
  const std::string bloom = "bigscience--bloom-560m";
  const std::string bare_experts =
      " ffn_gated_silu_bf16_h2048_i1408 ffn_gated_silu_bf16_h2048_i2816";
  // clang-format off
  const Case cases[] = {
      {llama, "vllm", 1, "ffn_gated_silu_bf16_h4096_i14336_rms_add_before_norm"},
      {llama, "sglang", 1, "ffn_gated_silu_bf16_h4096_i14336_rms_add_before_norm"},
      {llama, "trtllm", 1, "ffn_gated_silu_bf16_h4096_i14336_rms_add_before_norm"},
      {llama, "hf", 1, "ffn_gated_silu_bf16_h4096_i14336_rms_add_after"},
      {llama, "vllm", 2, "ffn_gated_silu_bf16_h4096_i7168_rms"},
      {gemma, "vllm", 1, gemma_block + "_add_before_norm"},
      {gemma, "sglang", 1, gemma_block + "_add_before_norm"},
      {gemma, "trtllm", 1, gemma_block + "_sandwich"},
      {gemma, "hf", 1, gemma_block + "_sandwich"},
      {gemma, "hf", 2, "ffn_gated_gelu_tanh_bf16_h2304_i4608_rms_plus_one"},
      {lite, "vllm", 1, "ffn_gated_silu_bf16_h2048_i10944_rms_add_before_norm" + bare_experts},
      {lite, "hf", 1, "ffn_gated_silu_bf16_h2048_i10944_rms_add_after" + bare_experts},
      {"facebook--opt-1.3b", "vllm", 1, "ffn_plain_relu_bf16_h2048_i8192_layer_add_after_bias"},
      {"facebook--opt-1.3b", "vllm", 4, "ffn_plain_relu_bf16_h2048_i2048_layer_up_bias"},
      {"THUDM--chatglm3-6b", "vllm", 1, "ffn_gated_silu_fp16_h4096_i13696_rms_add_after"},
      {"EleutherAI--pythia-2.8b", "hf", 1, "ffn_plain_gelu_erf_bf16_h2560_i10240_layer_bias"},
      {"EleutherAI--gpt-j-6b", "vllm", 1, "ffn_plain_gelu_tanh_bf16_h4096_i16384_bias"},
      {"EleutherAI--gpt-j-6b", "hf", 1, "ffn_plain_gelu_new_bf16_h4096_i16384_bias"},
      {"tiiuae--falcon-7b", "hf", 1, "ffn_plain_gelu_erf_bf16_h4544_i18176"},
      {gpt2, "vllm", 1, "ffn_plain_gelu_tanh_bf16_h768_i3072_layer_add_after_bias"},
      {gpt2, "sglang", 1, "ffn_plain_gelu_tanh_bf16_h768_i3072_layer_add_after_bias"},
      {gpt2, "trtllm", 1, "ffn_plain_gelu_tanh_bf16_h768_i3072_layer_add_after_bias"},
      {gpt2, "hf", 1, "ffn_plain_gelu_new_bf16_h768_i3072_layer_add_after_bias_in_out"},
      {bloom, "vllm", 1, "ffn_plain_gelu_erf_bf16_h1024_i4096_layer_add_after_bias"},
      {bloom, "hf", 1, "ffn_plain_gelu_tanh_bf16_h1024_i4096_layer_add_after_bias"},
      {"microsoft--phi-4", "vllm", 3, "declined tensor_parallel"},
  };
  // clang-format on
  for (const Case& c : cases) {
    EXPECT_EQ(OpNames(Ops(c.model, c.engine, c.degree)), c.ops)
        << c.model << " " << c.engine << " tp " << c.degree;
  }
}

TEST(BenchModelsTest, BareOpsKeepTheBiasesOnly) {
  EXPECT_EQ(OpNames(Ops("meta-llama--Llama-3.1-8B", "vllm", 1, OpVariant::kBare)),
            "ffn_gated_silu_bf16_h4096_i14336");
  EXPECT_EQ(OpNames(Ops("facebook--opt-1.3b", "hf", 1, OpVariant::kBare)),
            "ffn_plain_relu_bf16_h2048_i8192_bias");
}

TEST(BenchModelsTest, EveryEngineGetsOpsOrARuleForEveryModel) {
  int served = 0;
  int declined = 0;
  for (const auto& entry : std::filesystem::directory_iterator("bench/models")) {
    if (entry.path().extension() != ".json") continue;
    const auto model = ParseModelConfig(FileText(entry.path().string()));
    if (!model.ok()) {
      EXPECT_TRUE(IsDeclined(model.status())) << entry.path() << ": " << model.status();
      continue;
    }
    for (const std::string engine : {"vllm", "sglang", "hf", "trtllm"}) {
      const auto ops = OpsForModel(*model, {.engine = FindEnginePreset(engine).value(),
                                            .tensor_parallel = {1, 2, 4, 8},
                                            .tokens = {1, 8, 32, 128, 129}});
      ASSERT_TRUE(ops.ok()) << ops.status();
      for (const ModelOp& op : *ops) {
        (op.op.ok() ? served : declined) += 1;
        EXPECT_FALSE(op.roles.empty()) << entry.path();
        if (op.op.ok()) continue;
        EXPECT_THAT(std::string(op.op.status().message()), MatchesRegex("[a-z_]+: .+"));
      }
    }
  }
  EXPECT_GT(served, 2500);
  EXPECT_GT(declined, 0);
}

}  // namespace
}  // namespace fusebox
