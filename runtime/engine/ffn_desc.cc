#include "runtime/engine/ffn_desc.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/engine/struct_size.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr uint32_t kKnownBiases = FUSEBOX_BIAS_UP | FUSEBOX_BIAS_DOWN;
constexpr uint32_t kKnownFlags = FUSEBOX_FLAG_ALLOW_ATOMICS | FUSEBOX_FLAG_BATCH_INVARIANT;
constexpr int kDesignMaxTokens = 256;  // above it an op is compute bound

absl::Status UnknownValue(const char* field, int64_t value, std::string_view accepted) {
  return absl::InvalidArgumentError(absl::StrCat("fusebox_ffn_desc::", field, " is ", value,
                                                 ", which names nothing; accepted: ", accepted));
}

// OK for `served`, Declined for another value up to `last`, else InvalidArgument.
absl::Status CheckServedValue(const char* field, int32_t value, int32_t served, int32_t first,
                              int32_t last, std::string_view accepted, std::string_view rule,
                              std::string_view sentence) {
  if (value < first || value > last) return UnknownValue(field, value, accepted);
  if (value != served) return Declined(rule, sentence);
  return absl::OkStatus();
}

absl::StatusOr<Activation> ReadActivation(const fusebox_ffn_desc& desc) {
  switch (desc.activation) {
    case FUSEBOX_ACTIVATION_SILU:
      return Activation::kSilu;
    case FUSEBOX_ACTIVATION_GELU_ERF:
      return Activation::kGeluErf;
    case FUSEBOX_ACTIVATION_RELU:
      return Activation::kRelu;
    case FUSEBOX_ACTIVATION_GELU_TANH:
      return Declined("activation_served",
                      "gelu_tanh has no kernel in this version, which serves silu, gelu_erf and "
                      "relu; run your own path");
    case FUSEBOX_ACTIVATION_RELU_SQUARED:
      return Declined("activation_served",
                      "relu_squared has no kernel in this version, which serves silu, gelu_erf and "
                      "relu; run your own path");
    default:
      return UnknownValue("activation", desc.activation, "FUSEBOX_ACTIVATION_* (1 to 5)");
  }
}

absl::StatusOr<ResidualMode> ReadResidualMode(const fusebox_ffn_desc& desc) {
  switch (desc.residual_mode) {
    case FUSEBOX_RESIDUAL_NONE:
      return ResidualMode::kNone;
    case FUSEBOX_RESIDUAL_ADD_AFTER:
      return ResidualMode::kAddAfter;
    case FUSEBOX_RESIDUAL_ADD_BEFORE_NORM:
      return Declined("residual_served",
                      "residual mode add_before_norm has no kernel in this version, which serves "
                      "none and add_after; add before the call and use none");
    case FUSEBOX_RESIDUAL_SANDWICH:
      return Declined("residual_served",
                      "residual mode sandwich has no kernel in this version, which serves none and "
                      "add_after; use none, and norm and add after the call");
    default:
      return UnknownValue("residual_mode", desc.residual_mode, "FUSEBOX_RESIDUAL_* (0 to 3)");
  }
}

absl::Status CheckDtypeAndLayout(const fusebox_ffn_desc& desc) {
  FUSEBOX_RETURN_IF_ERROR(CheckServedValue(
      "dtype", desc.dtype, FUSEBOX_DTYPE_BF16, 1, 2, "FUSEBOX_DTYPE_* (1 to 2)", "dtype_served",
      "fp16 has no kernel in this version, which serves bf16; run your own path"));
  FUSEBOX_RETURN_IF_ERROR(CheckServedValue(
      "layout", desc.layout, FUSEBOX_LAYOUT_OUT_IN, 0, 1, "FUSEBOX_LAYOUT_* (0 to 1)",
      "layout_served",
      "weights stored [in, out] have no kernel in this version, which serves [out, in]; transpose "
      "them once, or run your own path"));
  return absl::OkStatus();
}

absl::Status CheckNormAndRounding(const fusebox_ffn_desc& desc) {
  FUSEBOX_RETURN_IF_ERROR(CheckServedValue(
      "norm", desc.norm, FUSEBOX_NORM_NONE, 0, 3, "FUSEBOX_NORM_* (0 to 3)", "norm_served",
      "a norm before the block has no kernel in this version; run it before the "
      "call and use norm none"));
  if (desc.rounding != FUSEBOX_ROUNDING_VLLM && desc.rounding != FUSEBOX_ROUNDING_HF) {
    return UnknownValue("rounding", desc.rounding, "FUSEBOX_ROUNDING_* (0 to 1)");
  }
  return absl::OkStatus();  // without a norm both round at the same points: the intermediate, once
}

absl::Status CheckBiasesAndFlags(const fusebox_ffn_desc& desc) {
  if ((desc.biases & ~kKnownBiases) != 0) {
    return UnknownValue("biases", desc.biases,
                        "bits FUSEBOX_BIAS_UP (1) and FUSEBOX_BIAS_DOWN (2)");
  }
  if (desc.biases != 0) {
    return Declined(
        "biases_served",
        "biases have no kernel in this version; run your own path for layers with them");
  }
  if ((desc.flags & ~kKnownFlags) != 0) {
    return UnknownValue("flags", desc.flags,
                        "bits FUSEBOX_FLAG_ALLOW_ATOMICS (1) and FUSEBOX_FLAG_BATCH_INVARIANT (2)");
  }
  if ((desc.flags & FUSEBOX_FLAG_BATCH_INVARIANT) != 0) {
    return Declined(
        "batch_invariant_served",
        "each token tile has a partition of its own in this version, so a row's sums are "
        "ordered differently in each; run your own path where that matters");
  }
  return absl::OkStatus();
}

absl::Status CheckGateUp(const fusebox_ffn_desc& desc) {
  if (desc.gated != 0 && desc.gated != 1) {
    return UnknownValue("gated", desc.gated, "0 (plain) and 1 (gated)");
  }
  if (desc.gate_up < FUSEBOX_GATE_UP_FUSED || desc.gate_up > FUSEBOX_GATE_UP_SEPARATE) {
    return UnknownValue("gate_up", desc.gate_up, "FUSEBOX_GATE_UP_* (0 to 2)");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ReadMaxTokens(const fusebox_ffn_desc& desc) {
  if (desc.max_tokens < 0) {
    return absl::InvalidArgumentError(absl::StrCat("fusebox_ffn_desc::max_tokens is ",
                                                   desc.max_tokens, "; use 1 to ", kMaxTokens,
                                                   ", or 0 for the largest"));
  }
  if (desc.max_tokens > kMaxTokens) {
    return Declined(
        "token_limit",
        absl::StrCat("max_tokens ", desc.max_tokens, " is above ", kMaxTokens,
                     ", the largest token count of this version",
                     desc.max_tokens > kDesignMaxTokens ? "; more than 256 tokens are "
                                                          "compute bound"
                                                        : "",
                     "; ask for ", kMaxTokens, " and run your own path for larger batches"));
  }
  return desc.max_tokens == 0 ? static_cast<int>(kMaxTokens) : desc.max_tokens;
}

static_assert(FUSEBOX_FFN_MAX_TOKENS == kMaxTokens, "the header promises the largest token count");

}  // namespace

absl::StatusOr<FfnSpec> ReadFfnDesc(const fusebox_ffn_desc* desc) {
  fusebox_ffn_desc known;
  FUSEBOX_RETURN_IF_ERROR(ReadStruct(desc, "fusebox_ffn_desc", &known));
  // Mistakes before refusals: a desc with both is a mistake.
  FUSEBOX_RETURN_IF_ERROR(CheckGateUp(known));
  const absl::StatusOr<Activation> activation = ReadActivation(known);
  const absl::StatusOr<ResidualMode> residual_mode = ReadResidualMode(known);
  const absl::StatusOr<int> max_tokens = ReadMaxTokens(known);
  const absl::Status checks[] = {CheckDtypeAndLayout(known),  activation.status(),
                                 CheckNormAndRounding(known), CheckBiasesAndFlags(known),
                                 residual_mode.status(),      max_tokens.status()};
  for (const absl::Status& check : checks) {
    if (absl::IsInvalidArgument(check)) return check;
  }
  for (const absl::Status& check : checks) FUSEBOX_RETURN_IF_ERROR(check);

  FfnSpec spec{.gate_up = static_cast<GateUp>(known.gate_up), .max_tokens = *max_tokens};
  FUSEBOX_ASSIGN_OR_RETURN(
      spec.problem,
      FfnProblem::Create({.hidden = DimK(known.hidden),
                          .intermediate = DimN(known.intermediate),
                          .dtype = DType::kBf16,
                          .activation = *activation,
                          .form = known.gated == 1 ? FfnForm::kGated : FfnForm::kPlain,
                          .residual_mode = *residual_mode}));
  return spec;
}

}  // namespace fusebox
