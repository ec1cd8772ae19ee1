// The plan interpreter: executes a plan on the CPU in plain loops, CTA by CTA: the norm of the
// rows, slots of phase 1, the gather of h, passes of phase 2, partial sums added in the order of
// clusters or of k, the residual. fp32 sums, and rounding to the dtype where the kernel rounds; the
// order of sums inside an MMA and a norm is not the kernel's. For small problems. Pure function.
#ifndef FUSEBOX_SRC_PLAN_INTERPRETER_H_
#define FUSEBOX_SRC_PLAN_INTERPRETER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// Elements of the problem's dtype as bits, row-major, dense. Shapes: src/shape/ffn_problem.h;
// biases are [intermediate] (gate, up) and [hidden] (down), norm weights [hidden]. Empty is what
// the problem does not have.
struct FfnOperands {
  int64_t tokens = 0;
  absl::Span<const uint16_t> gate;  // gated
  absl::Span<const uint16_t> up;
  absl::Span<const uint16_t> down;
  absl::Span<const uint16_t> x;
  absl::Span<const uint16_t> residual;   // modes add_before_norm and add_after
  absl::Span<const uint16_t> gate_bias;  // up_bias and gated
  absl::Span<const uint16_t> up_bias;
  absl::Span<const uint16_t> down_bias;
  absl::Span<const uint16_t> norm_weight;
  absl::Span<const uint16_t> norm_bias;           // LayerNorm; empty: without bias
  absl::Span<const uint16_t> second_norm_weight;  // mode sandwich
  float eps = 0.0f;
};

// [tokens, hidden]; an element that the plan never writes stays NaN.
struct FfnOutputs {
  std::vector<uint16_t> y;
  std::vector<uint16_t> residual_out;  // mode add_before_norm: x + residual
};

// InvalidArgument when the operands do not have the problem's shapes. REQUIRES: the field rules of
// legality.h hold.
absl::StatusOr<FfnOutputs> Interpret(const FusionPlan& plan, const FfnOperands& operands);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_INTERPRETER_H_
