#include "src/model/activation_name.h"

#include <array>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

struct NamedActivation {
  std::string_view name;
  std::optional<Activation> activation;  // nullopt: transformers has it, this version does not
};

// Keys of ACT2FN that a feed-forward block uses. Of the gelus with tanh gelu_pytorch_tanh is one
// operation with one rounding. The others are several with a rounding after each: gelu_python_tanh
// and gelu_accurate those of gelu_new, gelu_fast others, which are served as one.
constexpr std::array<NamedActivation, 18> kActivations = {{
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGeluErf},
    {"gelu_python", Activation::kGeluErf},
    {"relu", Activation::kRelu},
    {"gelu_new", Activation::kGeluNew},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluNew},
    {"gelu_accurate", Activation::kGeluNew},
    {"relu2", Activation::kReluSquared},
    {"quick_gelu", std::nullopt},
    {"relu6", std::nullopt},
    {"leaky_relu", std::nullopt},
    {"mish", std::nullopt},
    {"tanh", std::nullopt},
    {"sigmoid", std::nullopt},
    {"xielu", std::nullopt},
}};

}  // namespace

absl::StatusOr<Activation> ActivationByName(std::string_view field, std::string_view name) {
  for (const NamedActivation& row : kActivations) {
    if (row.name != name) continue;
    if (row.activation.has_value()) return *row.activation;
    return Declined("activation",
                    absl::StrCat(field, " is ", QuotedName(name),
                                 "; this version serves silu, gelu (erf and tanh), relu and its "
                                 "square; run the model's own path"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "field ", field, " is ", QuotedName(name),
      ", which is no activation of transformers; accepted: ",
      absl::StrJoin(kActivations, ", ", [](std::string* out, const NamedActivation& row) {
        absl::StrAppend(out, row.name);
      })));
}

std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 40;
  const std::string_view shown = name.substr(0, kMaxShown);
  return absl::StrCat("\"", absl::CHexEscape(shown), name.size() > kMaxShown ? "...\"" : "\"");
}

}  // namespace fusebox
