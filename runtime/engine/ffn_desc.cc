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

// The values of the C API's enums are those of FfnProblem's.
static_assert(FUSEBOX_DTYPE_FP16 == static_cast<int32_t>(DType::kFp16));
static_assert(FUSEBOX_ACTIVATION_GELU_ERF == static_cast<int32_t>(Activation::kGeluErf) &&
              FUSEBOX_ACTIVATION_RELU == static_cast<int32_t>(Activation::kRelu) &&
              FUSEBOX_ACTIVATION_GELU_TANH == static_cast<int32_t>(Activation::kGeluTanh) &&
              FUSEBOX_ACTIVATION_RELU_SQUARED == static_cast<int32_t>(Activation::kReluSquared) &&
              FUSEBOX_ACTIVATION_GELU_NEW == static_cast<int32_t>(Activation::kGeluNew));
static_assert(FUSEBOX_NORM_RMS_PLUS_ONE == static_cast<int32_t>(Norm::kRmsPlusOne) &&
              FUSEBOX_NORM_LAYER == static_cast<int32_t>(Norm::kLayer));
static_assert(FUSEBOX_LAYOUT_IN_OUT == static_cast<int32_t>(WeightLayout::kInOut));
static_assert(FUSEBOX_RESIDUAL_ADD_BEFORE_NORM ==
                  static_cast<int32_t>(ResidualMode::kAddBeforeNorm) &&
              FUSEBOX_RESIDUAL_SANDWICH == static_cast<int32_t>(ResidualMode::kSandwich));

absl::Status CheckEnums(const fusebox_ffn_desc& desc) {
  const struct {
    const char* field;
    int32_t value;
    int32_t first;
    int32_t last;
    const char* accepted;
  } enums[] = {
      {"gated", desc.gated, 0, 1, "0 (plain) and 1 (gated)"},
      {"gate_up", desc.gate_up, FUSEBOX_GATE_UP_FUSED, FUSEBOX_GATE_UP_SEPARATE,
       "FUSEBOX_GATE_UP_* (0 to 2)"},
      {"dtype", desc.dtype, FUSEBOX_DTYPE_BF16, FUSEBOX_DTYPE_FP16, "FUSEBOX_DTYPE_* (1 to 2)"},
      {"activation", desc.activation, FUSEBOX_ACTIVATION_SILU, FUSEBOX_ACTIVATION_GELU_NEW,
       "FUSEBOX_ACTIVATION_* (1 to 6)"},
      {"layout", desc.layout, FUSEBOX_LAYOUT_OUT_IN, FUSEBOX_LAYOUT_IN_OUT,
       "FUSEBOX_LAYOUT_* (0 to 1)"},
      {"norm", desc.norm, FUSEBOX_NORM_NONE, FUSEBOX_NORM_LAYER, "FUSEBOX_NORM_* (0 to 3)"},
      {"residual_mode", desc.residual_mode, FUSEBOX_RESIDUAL_NONE, FUSEBOX_RESIDUAL_SANDWICH,
       "FUSEBOX_RESIDUAL_* (0 to 3)"},
      {"rounding", desc.rounding, FUSEBOX_ROUNDING_VLLM, FUSEBOX_ROUNDING_HF,
       "FUSEBOX_ROUNDING_* (0 to 1)"}};
  for (const auto& [field, value, first, last, accepted] : enums) {
    if (value < first || value > last) return UnknownValue(field, value, accepted);
  }
  return absl::OkStatus();
}

absl::Status CheckBits(const fusebox_ffn_desc& desc) {
  if ((desc.biases & ~kKnownBiases) != 0) {
    return UnknownValue("biases", desc.biases,
                        "bits FUSEBOX_BIAS_UP (1) and FUSEBOX_BIAS_DOWN (2)");
  }
  if ((desc.flags & ~kKnownFlags) != 0) {
    return UnknownValue("flags", desc.flags,
                        "bits FUSEBOX_FLAG_ALLOW_ATOMICS (1) and FUSEBOX_FLAG_BATCH_INVARIANT (2)");
  }
  return absl::OkStatus();
}

// Named values that no kernel of this version serves. REQUIRES: the values are known.
absl::Status CheckServed(const fusebox_ffn_desc& desc) {
  if ((desc.flags & FUSEBOX_FLAG_BATCH_INVARIANT) != 0) {
    return Declined(
        "batch_invariant_served",
        "each token tile has a partition of its own in this version, so a row's sums are "
        "ordered differently in each; run your own path where that matters");
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
  FUSEBOX_RETURN_IF_ERROR(CheckEnums(known));
  FUSEBOX_RETURN_IF_ERROR(CheckBits(known));
  const absl::StatusOr<int> max_tokens = ReadMaxTokens(known);
  const absl::StatusOr<FfnProblem> problem =
      FfnProblem::Create({.hidden = DimK(known.hidden),
                          .intermediate = DimN(known.intermediate),
                          .dtype = static_cast<DType>(known.dtype),
                          .activation = static_cast<Activation>(known.activation),
                          .form = known.gated == 1 ? FfnForm::kGated : FfnForm::kPlain,
                          .residual_mode = static_cast<ResidualMode>(known.residual_mode),
                          .norm = static_cast<Norm>(known.norm),
                          .rounding = Rounding::kEngine,  // vLLM's and Hugging Face's alike
                          .up_bias = (known.biases & FUSEBOX_BIAS_UP) != 0,
                          .down_bias = (known.biases & FUSEBOX_BIAS_DOWN) != 0,
                          .layout = static_cast<WeightLayout>(known.layout)});
  const absl::Status checks[] = {max_tokens.status(), problem.status(), CheckServed(known)};
  for (const absl::Status& check : checks) {
    if (absl::IsInvalidArgument(check)) return check;
  }
  for (const absl::Status& check : checks) FUSEBOX_RETURN_IF_ERROR(check);
  return FfnSpec{.problem = *problem,
                 .gate_up = static_cast<GateUp>(known.gate_up),
                 .max_tokens = *max_tokens};
}

}  // namespace fusebox
