// FfnProblem is one feed-forward block with fixed dimensions: the op that plans, sources and
// kernels are made for.
//   gated:  f(x) = down( act(gate(x)) * up(x) )      plain:  f(x) = down( act(up(x)) )
// with optional biases, a norm before the block, and a residual (ResidualMode).
// Layouts, all row-major: x [M, hidden], y [M, hidden]; gate and up [intermediate, hidden], down
// [hidden, intermediate] in layout out_in, the transposes of them in layout in_out. Weights in one
// gate_up matrix or in two is a matter of the binding, not of the problem. Invariant: an FfnProblem
// from Create is valid (positive dims, multiples of 8, within limits). A value; no threads.
#ifndef FUSEBOX_SRC_SHAPE_FFN_PROBLEM_H_
#define FUSEBOX_SRC_SHAPE_FFN_PROBLEM_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/strong_int.h"

namespace fusebox {

enum class DType : int32_t { kBf16 = 1, kFp16 = 2 };
enum class Activation : int32_t {
  kSilu = 1,
  kGeluErf = 2,
  kRelu = 3,
  kGeluTanh = 4,
  kReluSquared = 5,
  kGeluNew = 6  // kGeluTanh in elementary operations, each rounded to the dtype
};
enum class FfnForm : int32_t { kGated = 1, kPlain = 2 };
// Before the block: RMS with weight w or 1 + w, LayerNorm with weight and bias.
enum class Norm : int32_t { kNone = 0, kRms = 1, kRmsPlusOne = 2, kLayer = 3 };
// n: the op's norm (identity for Norm::kNone), each sum and product rounded to the dtype:
//   kNone          y = f(n(x))
//   kAddBeforeNorm r = x + residual, stored; y = f(n(r))
//   kAddAfter      y = residual + f(n(x))
//   kSandwich      y = x + n2(f(n(x))), n2 a norm of the same kind with weights of its own
enum class ResidualMode : int32_t { kNone = 0, kAddBeforeNorm = 1, kAddAfter = 2, kSandwich = 3 };
// Whether the launch is given a residual of its own; sandwich adds x.
constexpr bool TakesResidual(ResidualMode mode) {
  return mode == ResidualMode::kAddBeforeNorm || mode == ResidualMode::kAddAfter;
}
constexpr bool NeedsNorm(ResidualMode mode) {
  return mode == ResidualMode::kAddBeforeNorm || mode == ResidualMode::kSandwich;
}
// Where intermediate values are rounded to the dtype: kFused in h alone; kEngine where separate
// operations round, as vLLM and Hugging Face do: each projection's output (with its bias), the
// activation's, and h. The norm rounds as they do in both (kernels_templates/tile/row_norm.cuh).
enum class Rounding : int32_t { kFused = 0, kEngine = 1 };

// How weight matrices lie in memory: a row for each output, K innermost, as torch.nn.Linear keeps
// them, or a row for each input, as GPT-2's Conv1D does.
enum class WeightLayout : int32_t { kOutIn = 0, kInOut = 1 };

// Far above any model (405B: 53248); keeps every byte count within int64.
constexpr int64_t kMaxDim = 1 << 20;
constexpr int64_t kDimGranule = 8;   // elements: a 16-byte row pitch, as TMA needs
constexpr int64_t kMaxTokens = 128;  // the largest token tile this version has kernels for
constexpr std::array<int, 5> kTokenTiles = {8, 16, 32, 64, 128};

struct FfnProblem {
  DimK hidden;
  DimN intermediate;
  DType dtype = DType::kBf16;
  Activation activation = Activation::kSilu;
  FfnForm form = FfnForm::kGated;
  ResidualMode residual_mode = ResidualMode::kNone;
  Norm norm = Norm::kNone;
  Rounding rounding = Rounding::kEngine;
  bool up_bias = false;  // of gate and up; plain: of up
  bool down_bias = false;
  WeightLayout layout = WeightLayout::kOutIn;

  // InvalidArgument for non-positive or absurd dims and unknown values, and for the modes
  // add_before_norm and sandwich without a norm; Declined for dims (dim_granule) and for a sandwich
  // of LayerNorms (sandwich_norm), which no model has.
  static absl::StatusOr<FfnProblem> Create(const FfnProblem& fields);

  int64_t num_up_matrices() const { return form == FfnForm::kGated ? 2 : 1; }  // of phase 1
  int64_t weight_bytes() const;                                                // all matrices
  // Weights, x, y and residual, each once: the bytes of the floor.
  int64_t compulsory_bytes(int64_t tokens) const;
  // "ffn_gated_silu_bf16_h4096_i11008" (+ "_rms_add_before_norm_bias_in_out"): stable, for logs,
  // plans and files.
  std::string Name() const;

  friend auto operator<=>(const FfnProblem&, const FfnProblem&) = default;
};

// The smallest token tile that holds `tokens`. InvalidArgument below 0; Declined (token_limit)
// above kMaxTokens.
absl::StatusOr<int> TokenTileFor(int64_t tokens);

std::string_view ToString(DType dtype);
std::string_view ToString(Activation activation);  // "silu", "gelu_erf", "relu", "gelu_tanh", ...
std::string_view ToString(FfnForm form);           // "gated", "plain"
std::string_view ToString(ResidualMode mode);      // "none", "add_before_norm", "add_after", ...
std::string_view ToString(Norm norm);              // "none", "rms", "rms_plus_one", "layer"
std::string_view ToString(Rounding rounding);      // "fused", "engine"
std::string_view ToString(WeightLayout layout);    // "out_in", "in_out"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SHAPE_FFN_PROBLEM_H_
