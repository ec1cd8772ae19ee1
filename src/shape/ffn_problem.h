// FfnProblem is one feed-forward block with fixed dimensions: the op that plans, sources and
// kernels are made for.
//   gated:  y = down( act(gate(x)) * up(x) )      plain:  y = down( act(up(x)) )
// Layouts, all row-major, K innermost: x [M, hidden], gate and up [intermediate, hidden], down
// [hidden, intermediate], y [M, hidden]. Weights in one gate_up matrix or in two is a matter of the
// binding, not of the problem. Invariant: an FfnProblem from Create is valid (positive dims,
// multiples of 8, within limits). A value; no threads.
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

enum class DType : int32_t { kBf16 = 1 };
enum class Activation : int32_t { kSilu = 1, kGeluErf = 2, kRelu = 3 };
enum class FfnForm : int32_t { kGated = 1, kPlain = 2 };
// kAddAfter: y = residual + bf16(f(x))
enum class ResidualMode : int32_t { kNone = 0, kAddAfter = 2 };

// Far above any model (405B: 53248); keeps every byte count within int64.
constexpr int64_t kMaxDim = 1 << 20;
constexpr int64_t kDimGranule = 8;  // elements: a 16-byte row pitch, as TMA needs
constexpr int64_t kMaxTokens = 32;  // the largest token tile this version has kernels for
constexpr std::array<int, 3> kTokenTiles = {8, 16, 32};

struct FfnProblem {
  DimK hidden;
  DimN intermediate;
  DType dtype = DType::kBf16;
  Activation activation = Activation::kSilu;
  FfnForm form = FfnForm::kGated;
  ResidualMode residual_mode = ResidualMode::kNone;

  // InvalidArgument for non-positive or absurd dims; Declined (dim_granule, activation_form) for
  // legal ones we do not serve: gated takes silu or relu, plain takes gelu_erf or relu.
  static absl::StatusOr<FfnProblem> Create(const FfnProblem& fields);

  int64_t num_up_matrices() const { return form == FfnForm::kGated ? 2 : 1; }  // of phase 1
  int64_t weight_bytes() const;                                                // all matrices
  // Weights, x, y and residual, each once: the bytes of the floor.
  int64_t compulsory_bytes(int64_t tokens) const;
  // "ffn_gated_silu_bf16_h4096_i11008" (+ "_add_after"): stable, for logs, plans and files.
  std::string Name() const;

  friend auto operator<=>(const FfnProblem&, const FfnProblem&) = default;
};

// The smallest token tile that holds `tokens`. InvalidArgument below 0; Declined (token_limit)
// above kMaxTokens.
absl::StatusOr<int> TokenTileFor(int64_t tokens);

std::string_view ToString(DType dtype);
std::string_view ToString(Activation activation);  // "silu", "gelu_erf", "relu"
std::string_view ToString(FfnForm form);           // "gated", "plain"
std::string_view ToString(ResidualMode mode);      // "none", "add_after"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SHAPE_FFN_PROBLEM_H_
