#include "src/model/model_ffn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "src/base/status.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Sentence(const absl::Status& status) { return std::string(status.message()); }

TEST(ModelFfnTest, TakesTransformersDefaultsForActivationAndBiases) {
  struct Case {
    std::string text;
    Activation activation;
    Biases biases;
  };
  const std::string dims = R"("num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128)";
  const std::string opt =
      R"({"model_type": "opt", "num_hidden_layers": 2, "hidden_size": 64, "ffn_dim": 128)";
  const Case cases[] = {
      {R"({"model_type": "llama", )" + dims + "}", Activation::kSilu, Biases::kNone},
      {R"({"model_type": "llama", "mlp_bias": true, )" + dims + "}", Activation::kSilu,
       Biases::kPresent},
      {R"({"model_type": "llama", "mlp_bias": null, )" + dims + "}", Activation::kSilu,
       Biases::kNone},
      {R"({"model_type": "llama", "hidden_act": "relu", )" + dims + "}", Activation::kRelu,
       Biases::kNone},
      {R"({"model_type": "llama", "hidden_act": "gelu_pytorch_tanh", )" + dims + "}",
       Activation::kGeluTanh, Biases::kNone},
      {R"({"model_type": "llama", "hidden_act": "relu2", )" + dims + "}", Activation::kReluSquared,
       Biases::kNone},
      {R"({"model_type": "gemma", "hidden_act": "gelu", )" + dims + "}", Activation::kGeluTanh,
       Biases::kNone},
      {R"({"model_type": "qwen2", "mlp_bias": true, )" + dims + "}", Activation::kSilu,
       Biases::kNone},
      {R"({"model_type": "gpt_neox", )" + dims + "}", Activation::kGeluErf, Biases::kPresent},
      {R"({"model_type": "gpt_neox", "hidden_act": "gelu_fast", )" + dims + "}",
       Activation::kGeluTanh, Biases::kPresent},
      {R"({"model_type": "phi", )" + dims + "}", Activation::kGeluNew, Biases::kPresent},
      {R"({"model_type": "llama", "hidden_act": "gelu_accurate", )" + dims + "}",
       Activation::kGeluNew, Biases::kNone},
      {R"({"model_type": "llama", "hidden_act": "gelu_python_tanh", )" + dims + "}",
       Activation::kGeluNew, Biases::kNone},
      {opt + "}", Activation::kRelu, Biases::kPresent},
      {opt + R"(, "enable_bias": false})", Activation::kRelu, Biases::kNone},
      {R"({"architectures": ["Qwen3ForCausalLM"], )" + dims + "}", Activation::kSilu,
       Biases::kNone},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(c.text);
    ASSERT_TRUE(model.ok()) << c.text << ": " << model.status();
    EXPECT_EQ(model->activation, c.activation) << c.text;
    EXPECT_EQ(model->biases, c.biases) << c.text;
  }
}

TEST(ModelFfnTest, DeclinesUnservedModelsByRule) {
  struct Case {
    std::string text;
    std::string sentence;
  };
  const std::string dims =
      R"("num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128})";
  const Case cases[] = {
      {R"({"model_type": "mamba"})",
       "architecture: \"mamba\" is not served; this version serves llama, mistral, mixtral"},
      {R"({"architectures": ["MambaForCausalLM"]})",
       "architecture: \"MambaForCausalLM\" is not served"},
      {R"({"model_type": "llama", "architectures": ["GPT2LMHeadModel"]})",
       "architecture: model_type llama but architectures names \"GPT2LMHeadModel\""},
      {R"({"model_type": "llama", "hidden_act": "quick_gelu", )" + dims,
       "activation: hidden_act is \"quick_gelu\"; this version serves silu, gelu (erf and tanh)"},
      {R"({"model_type": "llama", "torch_dtype": "float64", )" + dims,
       "dtype: the checkpoint's dtype is \"float64\"; this version serves bfloat16 and float16"},
      {R"({"model_type": "gpt_oss", "num_local_experts": 4, )" + dims,
       "clamped_swiglu: gpt-oss interleaves gate and up row by row"},
      {R"({"model_type": "llama", "quantization_config": {"quant_method": "fp8"}, )" + dims,
       "quantization: the config has a quantization_config"},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(c.text);
    EXPECT_TRUE(IsDeclined(model.status())) << c.text << ": " << model.status();
    EXPECT_THAT(Sentence(model.status()), StartsWith(c.sentence)) << c.text;
  }
}

TEST(ModelFfnTest, RefusesBrokenConfigsByFieldName) {
  struct Case {
    std::string text;
    std::string sentence;
  };
  const Case cases[] = {
      {"{}", "fields model_type and architectures are both missing"},
      {R"({"model_type": 7})", "field model_type is 7; a string is needed"},
      {R"({"model_type": "llama", "architectures": "LlamaForCausalLM"})", "field architectures is"},
      {R"({"model_type": "llama"})", "field num_hidden_layers is missing"},
      {R"({"model_type": "llama", "num_hidden_layers": 2})", "field hidden_size is missing"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64})",
       "field intermediate_size is missing"},
      {R"({"model_type": "opt", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128})",
       "field ffn_dim is missing"},
      {R"({"model_type": "llama", "num_hidden_layers": 0})", "field num_hidden_layers is 0"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 0})",
       "field hidden_size is 0"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": -1})",
       "field hidden_size is -1"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": "64"})",
       "field hidden_size is \"64\""},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 1000000000000})",
       "field intermediate_size is 1000000000000; an integer from 1 to 1048576"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 8, "mlp_bias": 1})",
       "field mlp_bias is 1; true or false"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 8,
          "hidden_act": "banana"})",
       "field hidden_act is \"banana\", which is no activation of transformers; accepted: silu, "
       "swish, gelu"},
      {R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 8, "torch_dtype": 4})",
       "field torch_dtype is 4; a string is needed"},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(c.text);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument)
        << c.text << ": " << model.status();
    EXPECT_THAT(Sentence(model.status()), StartsWith(c.sentence)) << c.text;
  }
}

TEST(ModelFfnTest, NoSentenceHoldsANewline) {
  const auto model = ParseModelConfig("{\"model_type\": \"a\\nb\"}");
  EXPECT_THAT(Sentence(model.status()), HasSubstr("\"a\\nb\""));
  EXPECT_EQ(Sentence(model.status()).find('\n'), std::string::npos);
}

TEST(ModelFfnTest, EveryTruncationOfARealConfigIsRefused) {
  const std::string text = FileText("bench/models/meta-llama--Llama-3.1-8B.json");
  const size_t end = text.rfind('}');
  ASSERT_NE(end, std::string::npos);
  for (size_t bytes = 0; bytes <= end; ++bytes) {
    const auto model = ParseModelConfig(std::string_view(text).substr(0, bytes));
    ASSERT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << bytes;
    ASSERT_THAT(Sentence(model.status()), HasSubstr("truncated?")) << bytes;
  }
}

TEST(ModelFfnTest, CheckpointDtypesBecomeTheOpsDtype) {
  const std::string dims =
      R"("num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128})";
  struct Case {
    std::string field;
    DType dtype;
  };
  const Case cases[] = {
      {"", DType::kBf16},
      {R"("torch_dtype": null, )", DType::kBf16},
      {R"("torch_dtype": "bfloat16", )", DType::kBf16},
      {R"("torch_dtype": "float32", )", DType::kBf16},
      {R"("torch_dtype": "float16", )", DType::kFp16},
      {R"("torch_dtype": "bfloat16", "dtype": "float16", )", DType::kFp16},
  };
  for (const Case& c : cases) {
    const auto model = ParseModelConfig(R"({"model_type": "llama", )" + c.field + dims);
    ASSERT_TRUE(model.ok()) << c.field << ": " << model.status();
    EXPECT_EQ(model->dtype, c.dtype) << c.field;
  }
}

}  // namespace
}  // namespace fusebox
