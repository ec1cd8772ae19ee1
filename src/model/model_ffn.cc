#include "src/model/model_ffn.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/model/activation_name.h"
#include "src/model/config_fields.h"

namespace fusebox {
namespace {

constexpr int64_t kMaxLayers = 4096;      // the deepest published models have a few hundred
constexpr int64_t kMaxExperts = 1 << 16;  // the widest published models have 384 a layer

absl::StatusOr<Biases> ReadBiases(const ConfigFields& fields, const Family& family) {
  switch (family.bias_rule) {
    case BiasRule::kNever:
      return Biases::kNone;
    case BiasRule::kAlways:
      return Biases::kPresent;
    case BiasRule::kFieldOrNone:
    case BiasRule::kFieldOrBiases:
      break;
  }
  FUSEBOX_ASSIGN_OR_RETURN(
      const bool has_biases,
      fields.Flag(family.bias_field, family.bias_rule == BiasRule::kFieldOrBiases));
  return has_biases ? Biases::kPresent : Biases::kNone;
}

absl::StatusOr<Norm> ReadNorm(const ConfigFields& fields, const Family& family) {
  if (family.rms_flag.empty()) return family.norm;
  FUSEBOX_ASSIGN_OR_RETURN(const bool is_rms, fields.Flag(family.rms_flag, true));
  return is_rms ? family.norm : Norm::kLayer;
}

absl::StatusOr<BlockOrder> ReadOrder(const ConfigFields& fields, const Family& family) {
  BlockOrder order = family.order;
  bool found = false;
  for (const OrderFlag& flag : family.order_flags) {  // each is read, so that each is checked
    if (flag.field.empty()) continue;
    FUSEBOX_ASSIGN_OR_RETURN(const bool value, fields.Flag(flag.field, flag.default_value));
    if (!found && value == flag.value) {
      order = flag.order;
      found = true;
    }
  }
  return order;
}

absl::StatusOr<int64_t> ReadIntermediate(const ConfigFields& fields, const Family& family,
                                         int64_t hidden) {
  const bool is_absent =
      family.intermediate_field.empty() || !fields.Has(family.intermediate_field);
  if (family.absent_intermediate == AbsentDim::kFourHidden && is_absent) {
    if (4 * hidden <= kMaxDim) return 4 * hidden;
    return absl::InvalidArgumentError(absl::StrCat(
        "field ", family.hidden_field, " is ", hidden,
        "; its block is four times as wide, and a dim of at most ", kMaxDim, " is needed"));
  }
  return fields.Integer(family.intermediate_field, kMaxDim);
}

// How many of the model's layers are mixtures of experts.
absl::StatusOr<int64_t> CountMixtures(const ConfigFields& fields, const ExpertFields& names,
                                      int64_t num_layers) {
  int64_t first_dense = 0;
  int64_t every = 1;
  std::vector<int64_t> dense_layers;
  if (!names.first_dense.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(first_dense, fields.Count(names.first_dense, 0, kMaxLayers));
  }
  if (!names.every.empty() && fields.Has(names.every)) {
    FUSEBOX_ASSIGN_OR_RETURN(every, fields.Integer(names.every, kMaxLayers));
  }
  if (!names.dense_layers.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(dense_layers, fields.Counts(names.dense_layers, kMaxLayers));
  }
  std::sort(dense_layers.begin(), dense_layers.end());
  int64_t mixtures = 0;
  for (int64_t layer = first_dense; layer < num_layers; ++layer) {
    const bool is_listed = std::binary_search(dense_layers.begin(), dense_layers.end(), layer);
    if (!is_listed && (layer + names.every_offset) % every == 0) ++mixtures;
  }
  return mixtures;
}

absl::Status AppendShared(const ConfigFields& fields, const ExpertFields& names,
                          const FfnBlock& expert, std::vector<FfnBlock>& blocks) {
  int64_t intermediate = 0;
  if (!names.shared_intermediate.empty() && fields.Has(names.shared_intermediate)) {
    FUSEBOX_ASSIGN_OR_RETURN(intermediate, fields.Count(names.shared_intermediate, 0, kMaxDim));
  } else if (!names.shared_count.empty()) {
    const int64_t limit = kMaxDim / expert.intermediate.value();
    FUSEBOX_ASSIGN_OR_RETURN(const int64_t count, fields.Count(names.shared_count, 0, limit));
    intermediate = count * expert.intermediate.value();
  }
  if (intermediate > 0) {
    blocks.push_back({.role = FfnRole::kSharedExpert,
                      .intermediate = DimN(intermediate),
                      .num_layers = expert.num_layers});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FfnBlock>> ReadBlocks(const ConfigFields& fields, const Family& family,
                                                 int64_t num_layers, int64_t hidden) {
  const ExpertFields& names = family.experts;
  int64_t mixtures = 0;
  FfnBlock expert = {.role = FfnRole::kExpert};
  if (!names.count.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(mixtures, CountMixtures(fields, names, num_layers));
    FUSEBOX_ASSIGN_OR_RETURN(expert.per_layer, fields.Integer(names.count, kMaxExperts));
    FUSEBOX_ASSIGN_OR_RETURN(const int64_t width, fields.Integer(names.intermediate, kMaxDim));
    expert.intermediate = DimN(width);
    expert.num_layers = mixtures;
  }
  std::vector<FfnBlock> blocks;
  if (mixtures < num_layers) {
    FUSEBOX_ASSIGN_OR_RETURN(const int64_t width, ReadIntermediate(fields, family, hidden));
    blocks.push_back({.intermediate = DimN(width), .num_layers = num_layers - mixtures});
  }
  if (mixtures > 0) {
    blocks.push_back(expert);
    FUSEBOX_RETURN_IF_ERROR(AppendShared(fields, names, expert, blocks));
  }
  return blocks;
}

// transformers 5 writes dtype where older ones write torch_dtype.
absl::StatusOr<std::string> ReadDtypeName(const ConfigFields& fields) {
  return fields.Text(fields.Has("dtype") ? "dtype" : "torch_dtype", "");
}

// float32 checkpoints are served as bf16: that is what vLLM takes for them on Hopper.
absl::StatusOr<DType> DtypeByName(std::string_view name) {
  if (name.empty() || name == "auto" || name == "bfloat16") return DType::kBf16;
  if (name == "float32" || name == "float") return DType::kBf16;
  if (name == "float16" || name == "half") return DType::kFp16;
  return Declined("dtype", absl::StrCat("the checkpoint's dtype is ", QuotedName(name),
                                        "; this version serves bfloat16 and float16, and float32 "
                                        "as bfloat16; run the model's own path"));
}

absl::Status CheckServed(const ConfigFields& config, const Family& family) {
  if (!family.refusal.rule.empty()) return Declined(family.refusal.rule, family.refusal.sentence);
  if (!config.Has("quantization_config")) return absl::OkStatus();
  return Declined("quantization",
                  "the config has a quantization_config and this version serves bf16 and fp16 "
                  "weights only; give the unquantised model, or run the model's own path");
}

// What the fields of the language model say; `config` holds them or is them.
absl::StatusOr<ModelFfn> ReadModel(const ConfigFields& config, const ConfigFields& fields,
                                   const Family& family) {
  // Absurd fields come before refusals: a broken file must not look like a legal model that is
  // declined.
  ModelFfn model = {.family = std::string(family.model_type),
                    .form = family.form,
                    .residual = family.residual,
                    .checkpoint_form = family.checkpoint_form,
                    .checkpoint_layout = family.checkpoint_layout};
  FUSEBOX_ASSIGN_OR_RETURN(model.num_layers, fields.Integer(family.layers_field, kMaxLayers));
  FUSEBOX_ASSIGN_OR_RETURN(const int64_t hidden, fields.Integer(family.hidden_field, kMaxDim));
  model.hidden = DimK(hidden);
  FUSEBOX_ASSIGN_OR_RETURN(model.blocks, ReadBlocks(fields, family, model.num_layers, hidden));
  FUSEBOX_ASSIGN_OR_RETURN(model.biases, ReadBiases(fields, family));
  FUSEBOX_ASSIGN_OR_RETURN(model.norm, ReadNorm(fields, family));
  model.norm_eps = family.default_eps;
  if (!family.eps_field.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(model.norm_eps, fields.Fraction(family.eps_field, family.default_eps));
  }
  FUSEBOX_ASSIGN_OR_RETURN(model.order, ReadOrder(fields, family));
  FUSEBOX_ASSIGN_OR_RETURN(model.checkpoint_dtype, ReadDtypeName(config));
  if (model.checkpoint_dtype.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(model.checkpoint_dtype, ReadDtypeName(fields));
  }
  std::string activation(family.default_activation);
  if (!family.activation_field.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(activation, fields.Text(family.activation_field, activation));
  }
  const absl::StatusOr<Activation> named = ActivationByName(family.activation_field, activation);
  if (!named.ok() && !IsDeclined(named.status())) return named.status();
  FUSEBOX_RETURN_IF_ERROR(CheckServed(config, family));
  FUSEBOX_ASSIGN_OR_RETURN(model.activation, named);
  // Of engines' kernels for gelu_new the current ones, compiled graphs included, compute it in fp32
  // and round once.
  const bool is_stepwise = model.activation == Activation::kGeluNew;
  model.engine_activation = is_stepwise ? Activation::kGeluTanh : model.activation;
  if (!family.engine_activation.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(model.engine_activation,
                             ActivationByName(family.activation_field, family.engine_activation));
  }
  FUSEBOX_ASSIGN_OR_RETURN(model.dtype, DtypeByName(model.checkpoint_dtype));
  return model;
}

}  // namespace

absl::StatusOr<ModelFfn> ParseModelConfig(std::string_view config_json) {
  FUSEBOX_ASSIGN_OR_RETURN(const ConfigFields config, ConfigFields::Parse(config_json));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string model_type, config.Text("model_type", ""));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string architecture, config.FirstText("architectures"));
  FUSEBOX_ASSIGN_OR_RETURN(const Family family, FindFamily(model_type, architecture));
  if (family.nested.empty()) return ReadModel(config, config, family);
  FUSEBOX_ASSIGN_OR_RETURN(const ConfigFields fields, config.Object(family.nested));
  return ReadModel(config, fields, family);
}

std::string_view ToString(FfnRole role) {
  switch (role) {
    case FfnRole::kDense:
      return "dense";
    case FfnRole::kExpert:
      return "expert";
    case FfnRole::kSharedExpert:
      return "shared_expert";
  }
  return "unknown";
}

}  // namespace fusebox
