#include "src/shape/ffn_problem.h"

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;  // bf16 and fp16

absl::Status CheckRange(std::string_view name, int64_t value) {
  if (value >= 1 && value <= kMaxDim) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ffn: ", name, " is ", value, "; accepted: 1 to ", kMaxDim));
}

absl::Status CheckGranule(std::string_view name, int64_t value) {
  if (value % kDimGranule != 0) {
    return Declined("dim_granule",
                    absl::StrCat(name, " ", value, " is not a multiple of ", kDimGranule,
                                 " elements (TMA needs a 16-byte pitch); pad it to ",
                                 RoundUp(value, kDimGranule)));
  }
  return absl::OkStatus();
}

// Every enum's values are contiguous; its last one is named here.
template <typename Enum>
absl::Status CheckEnum(std::string_view name, Enum value, Enum first, Enum last) {
  if (value >= first && value <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "ffn: ", name, " ", static_cast<int>(value),
      " is not a known value; known: ", static_cast<int>(first), " to ", static_cast<int>(last)));
}

absl::Status CheckEnums(const FfnProblem& fields) {
  FUSEBOX_RETURN_IF_ERROR(CheckEnum("dtype", fields.dtype, DType::kBf16, DType::kFp16));
  FUSEBOX_RETURN_IF_ERROR(
      CheckEnum("activation", fields.activation, Activation::kSilu, Activation::kGeluNew));
  FUSEBOX_RETURN_IF_ERROR(CheckEnum("form", fields.form, FfnForm::kGated, FfnForm::kPlain));
  FUSEBOX_RETURN_IF_ERROR(CheckEnum("residual_mode", fields.residual_mode, ResidualMode::kNone,
                                    ResidualMode::kSandwich));
  FUSEBOX_RETURN_IF_ERROR(CheckEnum("norm", fields.norm, Norm::kNone, Norm::kLayer));
  FUSEBOX_RETURN_IF_ERROR(
      CheckEnum("layout", fields.layout, WeightLayout::kOutIn, WeightLayout::kInOut));
  return CheckEnum("rounding", fields.rounding, Rounding::kFused, Rounding::kEngine);
}

}  // namespace

absl::StatusOr<FfnProblem> FfnProblem::Create(const FfnProblem& fields) {
  FUSEBOX_RETURN_IF_ERROR(CheckEnums(fields));
  FUSEBOX_RETURN_IF_ERROR(CheckRange("hidden", fields.hidden.value()));
  FUSEBOX_RETURN_IF_ERROR(CheckRange("intermediate", fields.intermediate.value()));
  FUSEBOX_RETURN_IF_ERROR(CheckGranule("hidden", fields.hidden.value()));
  FUSEBOX_RETURN_IF_ERROR(CheckGranule("intermediate", fields.intermediate.value()));
  if (NeedsNorm(fields.residual_mode) && fields.norm == Norm::kNone) {
    const bool is_before = fields.residual_mode == ResidualMode::kAddBeforeNorm;
    return absl::InvalidArgumentError(
        absl::StrCat("ffn: residual mode ", ToString(fields.residual_mode),
                     " needs a norm, and norm is none; add ", is_before ? "before" : "after",
                     " the call and use residual none"));
  }
  if (fields.residual_mode == ResidualMode::kSandwich && fields.norm == Norm::kLayer) {
    return Declined("sandwich_norm",
                    "residual mode sandwich has no kernel for norm layer, only for rms and "
                    "rms_plus_one; run the second norm yourself and use residual none");
  }
  return fields;
}

int64_t FfnProblem::weight_bytes() const {
  return (num_up_matrices() + 1) * hidden.value() * intermediate.value() * kElementBytes;
}

int64_t FfnProblem::compulsory_bytes(int64_t tokens) const {
  int64_t rows = 2;                                                          // x, y
  if (residual_mode == ResidualMode::kAddAfter) rows = 3;                    // residual
  if (residual_mode == ResidualMode::kAddBeforeNorm) rows = 4;               // residual in and out
  int64_t vectors = norm == Norm::kNone ? 0 : norm == Norm::kLayer ? 2 : 1;  // of hidden
  if (residual_mode == ResidualMode::kSandwich) vectors *= 2;
  if (down_bias) ++vectors;
  const int64_t up_biases = up_bias ? num_up_matrices() * intermediate.value() : 0;
  return weight_bytes() + ((rows * tokens + vectors) * hidden.value() + up_biases) * kElementBytes;
}

std::string FfnProblem::Name() const {
  std::string name =
      absl::StrCat("ffn_", ToString(form), "_", ToString(activation), "_", ToString(dtype), "_h",
                   hidden.value(), "_i", intermediate.value());
  if (norm != Norm::kNone) absl::StrAppend(&name, "_", ToString(norm));
  if (residual_mode != ResidualMode::kNone) absl::StrAppend(&name, "_", ToString(residual_mode));
  if (up_bias || down_bias) {
    absl::StrAppend(&name, up_bias && down_bias ? "_bias" : up_bias ? "_up_bias" : "_down_bias");
  }
  if (layout != WeightLayout::kOutIn) absl::StrAppend(&name, "_", ToString(layout));
  if (rounding != Rounding::kEngine) absl::StrAppend(&name, "_", ToString(rounding));
  return name;
}

absl::StatusOr<int> TokenTileFor(int64_t tokens) {
  if (tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("ffn: tokens is ", tokens, "; accepted: 0 to ", kMaxTokens));
  }
  for (int tile : kTokenTiles) {
    if (tokens <= tile) return tile;
  }
  return Declined("token_limit", absl::StrCat(tokens, " tokens exceed the ", kMaxTokens,
                                              " that the largest token tile holds; split the batch "
                                              "or run your own path"));
}

std::string_view ToString(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return "bf16";
    case DType::kFp16:
      return "fp16";
  }
  return "unknown";
}

std::string_view ToString(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kRelu:
      return "relu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kReluSquared:
      return "relu_squared";
    case Activation::kGeluNew:
      return "gelu_new";
  }
  return "unknown";
}

std::string_view ToString(FfnForm form) {
  switch (form) {
    case FfnForm::kGated:
      return "gated";
    case FfnForm::kPlain:
      return "plain";
  }
  return "unknown";
}

std::string_view ToString(ResidualMode mode) {
  switch (mode) {
    case ResidualMode::kNone:
      return "none";
    case ResidualMode::kAddBeforeNorm:
      return "add_before_norm";
    case ResidualMode::kAddAfter:
      return "add_after";
    case ResidualMode::kSandwich:
      return "sandwich";
  }
  return "unknown";
}

std::string_view ToString(Norm norm) {
  switch (norm) {
    case Norm::kNone:
      return "none";
    case Norm::kRms:
      return "rms";
    case Norm::kRmsPlusOne:
      return "rms_plus_one";
    case Norm::kLayer:
      return "layer";
  }
  return "unknown";
}

std::string_view ToString(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFused:
      return "fused";
    case Rounding::kEngine:
      return "engine";
  }
  return "unknown";
}

std::string_view ToString(WeightLayout layout) {
  switch (layout) {
    case WeightLayout::kOutIn:
      return "out_in";
    case WeightLayout::kInOut:
      return "in_out";
  }
  return "unknown";
}

}  // namespace fusebox
