#include "src/shape/ffn_problem.h"

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int64_t kElementBytes = 2;  // bf16

absl::Status CheckDim(std::string_view name, int64_t value) {
  if (value <= 0 || value > kMaxDim) {
    return absl::InvalidArgumentError(
        absl::StrCat("ffn: ", name, " is ", value, "; accepted: 1 to ", kMaxDim));
  }
  if (value % kDimGranule != 0) {
    return Declined("dim_granule",
                    absl::StrCat(name, " ", value, " is not a multiple of ", kDimGranule,
                                 " elements (TMA needs a 16-byte pitch); pad it to ",
                                 RoundUp(value, kDimGranule)));
  }
  return absl::OkStatus();
}

template <typename Enum, size_t kSize>
bool IsOneOf(Enum value, const Enum (&accepted)[kSize]) {
  for (Enum candidate : accepted) {
    if (value == candidate) return true;
  }
  return false;
}

template <typename Enum>
absl::Status UnknownEnum(std::string_view name, Enum value) {
  return absl::InvalidArgumentError(
      absl::StrCat("ffn: ", name, " ", static_cast<int>(value), " is not a known value"));
}

absl::Status CheckEnums(const FfnProblem& fields) {
  if (!IsOneOf(fields.dtype, {DType::kBf16})) return UnknownEnum("dtype", fields.dtype);
  if (!IsOneOf(fields.activation, {Activation::kSilu, Activation::kGeluErf, Activation::kRelu})) {
    return UnknownEnum("activation", fields.activation);
  }
  if (!IsOneOf(fields.form, {FfnForm::kGated, FfnForm::kPlain})) {
    return UnknownEnum("form", fields.form);
  }
  if (!IsOneOf(fields.residual_mode, {ResidualMode::kNone, ResidualMode::kAddAfter})) {
    return UnknownEnum("residual_mode", fields.residual_mode);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FfnProblem> FfnProblem::Create(const FfnProblem& fields) {
  FUSEBOX_RETURN_IF_ERROR(CheckEnums(fields));
  FUSEBOX_RETURN_IF_ERROR(CheckDim("hidden", fields.hidden.value()));
  FUSEBOX_RETURN_IF_ERROR(CheckDim("intermediate", fields.intermediate.value()));
  const bool is_gated = fields.form == FfnForm::kGated;
  const Activation own = is_gated ? Activation::kSilu : Activation::kGeluErf;
  if (fields.activation != own && fields.activation != Activation::kRelu) {
    return Declined(
        "activation_form",
        absl::StrCat("a ", ToString(fields.form), " ffn with ", ToString(fields.activation),
                     " has no kernel; this version has ", ToString(own), " and relu for it"));
  }
  return fields;
}

int64_t FfnProblem::weight_bytes() const {
  return (num_up_matrices() + 1) * hidden.value() * intermediate.value() * kElementBytes;
}

int64_t FfnProblem::compulsory_bytes(int64_t tokens) const {
  const int64_t activations = residual_mode == ResidualMode::kAddAfter ? 3 : 2;  // x, y, residual
  return weight_bytes() + activations * tokens * hidden.value() * kElementBytes;
}

std::string FfnProblem::Name() const {
  return absl::StrCat("ffn_", ToString(form), "_", ToString(activation), "_", ToString(dtype), "_h",
                      hidden.value(), "_i", intermediate.value(),
                      residual_mode == ResidualMode::kAddAfter ? "_add_after" : "");
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
    case ResidualMode::kAddAfter:
      return "add_after";
  }
  return "unknown";
}

}  // namespace fusebox
