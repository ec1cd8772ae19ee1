#include "src/model/model_ffn.h"

#include "src/base/status.h"
#include "src/model/config_fields.h"
#include "src/model/family.h"

namespace fusebox {
namespace {

constexpr int64_t kMaxLayers = 4096;  // the deepest published models have a few hundred

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

absl::StatusOr<std::string> ReadDtype(const ConfigFields& fields) {
  // transformers 5 writes dtype where older ones write torch_dtype.
  return fields.Text(fields.Has("dtype") ? "dtype" : "torch_dtype", "");
}

}  // namespace

absl::StatusOr<ModelFfn> ParseModelConfig(std::string_view config_json) {
  FUSEBOX_ASSIGN_OR_RETURN(const ConfigFields fields, ConfigFields::Parse(config_json));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string model_type, fields.Text("model_type", ""));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string architecture, fields.FirstText("architectures"));
  FUSEBOX_ASSIGN_OR_RETURN(const Family family, FindFamily(model_type, architecture));

  // Absurd fields come before refusals: a broken file must not look like a legal model that is
  // declined.
  FUSEBOX_ASSIGN_OR_RETURN(const int64_t num_layers,
                           fields.Integer("num_hidden_layers", kMaxLayers));
  FUSEBOX_ASSIGN_OR_RETURN(const int64_t hidden, fields.Integer("hidden_size", kMaxDim));
  FUSEBOX_ASSIGN_OR_RETURN(const int64_t intermediate,
                           fields.Integer(family.intermediate_field, kMaxDim));
  FUSEBOX_ASSIGN_OR_RETURN(const Biases biases, ReadBiases(fields, family));
  FUSEBOX_ASSIGN_OR_RETURN(std::string checkpoint_dtype, ReadDtype(fields));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string activation_name,
                           fields.Text(family.activation_field, family.default_activation));
  FUSEBOX_ASSIGN_OR_RETURN(const Activation activation,
                           ActivationByName(family.activation_field, activation_name));
  if (fields.Has("quantization_config")) {
    return Declined(
        "quantization",
        "the config has a quantization_config and this version serves bf16 weights only; give the "
        "unquantised model, or run the model's own path");
  }
  return ModelFfn{.family = std::string(family.model_type),
                  .num_layers = num_layers,
                  .hidden = DimK(hidden),
                  .intermediate = DimN(intermediate),
                  .activation = activation,
                  .form = family.form,
                  .biases = biases,
                  .checkpoint_dtype = std::move(checkpoint_dtype)};
}

}  // namespace fusebox
