#include "src/model/family.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/model/activation_name.h"

namespace fusebox {
namespace {

// Defaults: transformers' configuration_<model_type>.py. Dims have no default here although
// transformers has some: a config that leaves one out is broken far more often than it means 4096.
// Orders: modeling_<model_type>.py, and vLLM's file of that name for what engines do otherwise.
constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .class_prefix = "Llama",
     .bias_rule = BiasRule::kFieldOrNone,
     .bias_field = "mlp_bias"},
    {.model_type = "mistral", .class_prefix = "Mistral"},
    {.model_type = "mixtral",
     .class_prefix = "Mixtral",
     .default_eps = 1e-5,
     .experts = {.count = "num_local_experts", .intermediate = "intermediate_size"}},
    {.model_type = "qwen2", .class_prefix = "Qwen2"},
    {.model_type = "qwen2_moe",
     .class_prefix = "Qwen2Moe",
     .experts = {.count = "num_experts",
                 .intermediate = "moe_intermediate_size",
                 .shared_intermediate = "shared_expert_intermediate_size",
                 .every = "decoder_sparse_step",
                 .every_offset = 1,
                 .dense_layers = "mlp_only_layers"}},
    {.model_type = "qwen3", .class_prefix = "Qwen3"},
    {.model_type = "qwen3_moe",
     .class_prefix = "Qwen3Moe",
     .experts = {.count = "num_experts",
                 .intermediate = "moe_intermediate_size",
                 .every = "decoder_sparse_step",
                 .every_offset = 1,
                 .dense_layers = "mlp_only_layers"}},
    {.model_type = "deepseek_v2",
     .class_prefix = "DeepseekV2",
     .experts = {.count = "n_routed_experts",
                 .intermediate = "moe_intermediate_size",
                 .shared_count = "n_shared_experts",
                 .first_dense = "first_k_dense_replace",
                 .every = "moe_layer_freq"}},
    {.model_type = "deepseek_v3",
     .class_prefix = "DeepseekV3",
     .experts = {.count = "n_routed_experts",
                 .intermediate = "moe_intermediate_size",
                 .shared_count = "n_shared_experts",
                 .first_dense = "first_k_dense_replace",
                 .every = "moe_layer_freq"}},
    // Gemma's hidden_act says gelu and was never meant: transformers and vLLM read
    // hidden_activation and take the tanh form where it is missing.
    {.model_type = "gemma",
     .class_prefix = "Gemma",
     .activation_field = "hidden_activation",
     .default_activation = "gelu_pytorch_tanh",
     .norm = Norm::kRmsPlusOne},
    {.model_type = "gemma2",
     .class_prefix = "Gemma2",
     .activation_field = "hidden_activation",
     .default_activation = "gelu_pytorch_tanh",
     .norm = Norm::kRmsPlusOne,
     .order = BlockOrder::kSandwich},
    {.model_type = "gemma3_text",
     .class_prefix = "Gemma3",
     .activation_field = "hidden_activation",
     .default_activation = "gelu_pytorch_tanh",
     .norm = Norm::kRmsPlusOne,
     .order = BlockOrder::kSandwich},
    {.model_type = "gemma3",
     .class_prefix = "Gemma3",
     .nested = "text_config",
     .activation_field = "hidden_activation",
     .default_activation = "gelu_pytorch_tanh",
     .norm = Norm::kRmsPlusOne,
     .order = BlockOrder::kSandwich},
    {.model_type = "phi",
     .class_prefix = "Phi",
     .form = FfnForm::kPlain,
     .default_activation = "gelu_new",
     .bias_rule = BiasRule::kAlways,
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_eps",
     .default_eps = 1e-5,
     .order = BlockOrder::kParallelSharedNorm,
     .residual = ResidualHabit::kAdded},
    {.model_type = "phi3",  // Phi-3, Phi-4
     .class_prefix = "Phi3",
     .default_eps = 1e-5,
     .checkpoint_form = WeightForm::kFused},
    {.model_type = "gpt2",
     .class_prefix = "GPT2",
     .layers_field = "n_layer",
     .hidden_field = "n_embd",
     .intermediate_field = "n_inner",
     .absent_intermediate = AbsentDim::kFourHidden,
     .form = FfnForm::kPlain,
     .activation_field = "activation_function",
     .default_activation = "gelu_new",
     .bias_rule = BiasRule::kAlways,
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_epsilon",
     .default_eps = 1e-5,
     .residual = ResidualHabit::kAdded,
     .checkpoint_layout = WeightLayout::kInOut},
    {.model_type = "gptj",
     .class_prefix = "GPTJ",
     .layers_field = "n_layer",
     .hidden_field = "n_embd",
     .intermediate_field = "n_inner",
     .absent_intermediate = AbsentDim::kFourHidden,
     .form = FfnForm::kPlain,
     .activation_field = "activation_function",
     .default_activation = "gelu_new",
     .bias_rule = BiasRule::kAlways,
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_epsilon",
     .default_eps = 1e-5,
     .order = BlockOrder::kParallelSharedNorm,
     .residual = ResidualHabit::kAdded},
    {.model_type = "gpt_neox",
     .class_prefix = "GPTNeoX",
     .form = FfnForm::kPlain,
     .default_activation = "gelu",
     .bias_rule = BiasRule::kAlways,
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_eps",
     .default_eps = 1e-5,
     .order_flags = {{{"use_parallel_residual", true, true, BlockOrder::kParallelOwnNorm}, {}}},
     .residual = ResidualHabit::kAdded},
    {.model_type = "opt",
     .class_prefix = "OPT",
     .intermediate_field = "ffn_dim",
     .form = FfnForm::kPlain,
     .activation_field = "activation_function",
     .default_activation = "relu",
     .bias_rule = BiasRule::kFieldOrBiases,
     .bias_field = "enable_bias",
     .norm = Norm::kLayer,
     .eps_field = "",
     .default_eps = 1e-5,
     .order_flags = {{{"do_layer_norm_before", true, false, BlockOrder::kNormedResidual}, {}}},
     .residual = ResidualHabit::kAdded},
    // BloomGelu is the tanh form; vLLM's file of the model takes the erf form.
    {.model_type = "bloom",
     .class_prefix = "Bloom",
     .layers_field = "n_layer",
     .intermediate_field = "",
     .absent_intermediate = AbsentDim::kFourHidden,
     .form = FfnForm::kPlain,
     .activation_field = "",
     .default_activation = "gelu_pytorch_tanh",
     .engine_activation = "gelu",
     .bias_rule = BiasRule::kAlways,
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_epsilon",
     .default_eps = 1e-5,
     .order_flags = {{{"apply_residual_connection_post_layernorm", false, true,
                       BlockOrder::kNormedResidual},
                      {}}},
     .residual = ResidualHabit::kAdded},
    {.model_type = "falcon",
     .class_prefix = "Falcon",
     .intermediate_field = "ffn_hidden_size",
     .absent_intermediate = AbsentDim::kFourHidden,
     .form = FfnForm::kPlain,
     .activation_field = "activation",
     .default_activation = "gelu",
     .bias_rule = BiasRule::kFieldOrNone,
     .bias_field = "bias",
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_epsilon",
     .default_eps = 1e-5,
     .order_flags = {{{"new_decoder_architecture", false, true, BlockOrder::kParallelSharedNorm},
                      {"parallel_attn", true, true, BlockOrder::kParallelSharedNorm}}},
     .residual = ResidualHabit::kAdded},
    {.model_type = "stablelm",
     .class_prefix = "StableLm",
     .norm = Norm::kLayer,
     .eps_field = "layer_norm_eps",
     .default_eps = 1e-5,
     .order_flags = {{{"use_parallel_residual", false, true, BlockOrder::kParallelSharedNorm}, {}}},
     .residual = ResidualHabit::kAdded},
    {.model_type = "chatglm",
     .class_prefix = "ChatGLM",
     .layers_field = "num_layers",
     .intermediate_field = "ffn_hidden_size",
     .activation_field = "",
     .bias_rule = BiasRule::kFieldOrNone,
     .bias_field = "add_bias_linear",
     .rms_flag = "rmsnorm",
     .eps_field = "layernorm_epsilon",
     .default_eps = 1e-5,
     .order_flags = {{{"apply_residual_connection_post_layernorm", false, true,
                       BlockOrder::kNormedResidual},
                      {}}},
     .residual = ResidualHabit::kAdded,
     .checkpoint_form = WeightForm::kFused},
    {.model_type = "internlm2", .class_prefix = "InternLM2"},
    {.model_type = "gpt_oss",
     .class_prefix = "GptOss",
     .bias_rule = BiasRule::kAlways,
     .default_eps = 1e-5,
     .checkpoint_form = WeightForm::kFused,
     .experts = {.count = "num_local_experts", .intermediate = "intermediate_size"},
     .refusal =
         {"clamped_swiglu",
          "gpt-oss interleaves gate and up row by row and clamps both before its swiglu, and "
          "this version has no kernel for that; run the model's own path"}},
};

std::string Names() {
  std::string names;
  for (const Family& row : kFamilies) {
    if (row.refusal.rule.empty()) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", row.model_type);
    }
  }
  return names;
}

// Whether `architecture` is a generating class of the family: LlamaForCausalLM, GPT2LMHeadModel.
bool IsClassOf(const Family& row, std::string_view architecture) {
  if (!absl::ConsumePrefix(&architecture, row.class_prefix)) return false;
  for (const std::string_view end :
       {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "Model"}) {
    if (architecture == end) return true;
  }
  return false;
}

}  // namespace

std::span<const Family> KnownFamilies() { return kFamilies; }

absl::StatusOr<Family> FindFamily(std::string_view model_type, std::string_view architecture) {
  if (model_type.empty() && architecture.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("fields model_type and architectures are both missing; one of them must name "
                     "the model (served: ",
                     Names(), ")"));
  }
  for (const Family& row : kFamilies) {
    if (model_type.empty()) {
      if (IsClassOf(row, architecture)) return row;
      continue;
    }
    if (model_type != row.model_type) continue;
    if (architecture.empty() || absl::StartsWithIgnoreCase(architecture, row.class_prefix)) {
      return row;
    }
    return Declined("architecture",
                    absl::StrCat("model_type ", row.model_type, " but architectures names ",
                                 QuotedName(architecture), "; this version serves ", Names(),
                                 "; run the model's own path"));
  }
  return Declined(
      "architecture",
      absl::StrCat(QuotedName(model_type.empty() ? architecture : model_type),
                   " is not served; this version serves ", Names(), "; run the model's own path"));
}

}  // namespace fusebox
