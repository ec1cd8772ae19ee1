#include "src/model/family.h"

#include <array>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

// Defaults: transformers' configuration_<model_type>.py. Dims have no default here although
// transformers has some: a config that leaves one out is broken far more often than it means 4096.
constexpr std::array<Family, 6> kFamilies = {{
    {"llama", "Llama", FfnForm::kGated, "intermediate_size", "hidden_act", "silu",
     BiasRule::kFieldOrNone, "mlp_bias"},
    {"qwen2", "Qwen2", FfnForm::kGated, "intermediate_size", "hidden_act", "silu", BiasRule::kNever,
     ""},
    {"qwen3", "Qwen3", FfnForm::kGated, "intermediate_size", "hidden_act", "silu", BiasRule::kNever,
     ""},
    {"mistral", "Mistral", FfnForm::kGated, "intermediate_size", "hidden_act", "silu",
     BiasRule::kNever, ""},
    {"opt", "OPT", FfnForm::kPlain, "ffn_dim", "activation_function", "relu",
     BiasRule::kFieldOrBiases, "enable_bias"},
    {"gpt_neox", "GPTNeoX", FfnForm::kPlain, "intermediate_size", "hidden_act", "gelu",
     BiasRule::kAlways, ""},
}};

struct NamedActivation {
  std::string_view name;
  std::optional<Activation> activation;  // nullopt: transformers has it, this version does not
};

// Keys of transformers' ACT2FN that a feed-forward block uses.
constexpr std::array<NamedActivation, 14> kActivations = {{
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGeluErf},
    {"gelu_python", Activation::kGeluErf},
    {"relu", Activation::kRelu},
    {"gelu_new", std::nullopt},
    {"gelu_fast", std::nullopt},
    {"gelu_pytorch_tanh", std::nullopt},
    {"gelu_python_tanh", std::nullopt},
    {"quick_gelu", std::nullopt},
    {"relu2", std::nullopt},
    {"relu6", std::nullopt},
    {"mish", std::nullopt},
    {"tanh", std::nullopt},
}};

std::string Names() {
  return absl::StrJoin(kFamilies, ", ", [](std::string* out, const Family& row) {
    absl::StrAppend(out, row.model_type);
  });
}

// Names come from a file: kept printable and short.
std::string Quoted(std::string_view name) {
  constexpr size_t kMaxShown = 40;
  const std::string_view shown = name.substr(0, kMaxShown);
  return absl::StrCat("\"", absl::CHexEscape(shown), name.size() > kMaxShown ? "...\"" : "\"");
}

}  // namespace

std::span<const Family> ServedFamilies() { return kFamilies; }

absl::StatusOr<Family> FindFamily(std::string_view model_type, std::string_view architecture) {
  if (model_type.empty() && architecture.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("fields model_type and architectures are both missing; one of them must name "
                     "the model (served: ",
                     Names(), ")"));
  }
  for (const Family& row : kFamilies) {
    if (model_type.empty()) {
      if (architecture == absl::StrCat(row.class_prefix, "ForCausalLM")) return row;
      continue;
    }
    if (model_type != row.model_type) continue;
    if (architecture.empty() || absl::StartsWithIgnoreCase(architecture, row.class_prefix))
      return row;
    return Declined("architecture",
                    absl::StrCat("model_type ", row.model_type, " but architectures names ",
                                 Quoted(architecture), "; this version serves ", Names(),
                                 "; run the model's own path"));
  }
  return Declined(
      "architecture",
      absl::StrCat(model_type.empty() ? Quoted(architecture) : Quoted(model_type),
                   " is not served; this version serves ", Names(), "; run the model's own path"));
}

absl::StatusOr<Activation> ActivationByName(std::string_view field, std::string_view name) {
  for (const NamedActivation& row : kActivations) {
    if (row.name != name) continue;
    if (row.activation.has_value()) return *row.activation;
    return Declined(
        "activation",
        absl::StrCat(field, " is ", Quoted(name),
                     "; this version serves silu, gelu (erf) and relu; run the model's own path"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "field ", field, " is ", Quoted(name), ", which is no activation of transformers; accepted: ",
      absl::StrJoin(kActivations, ", ", [](std::string* out, const NamedActivation& row) {
        absl::StrAppend(out, row.name);
      })));
}

}  // namespace fusebox
