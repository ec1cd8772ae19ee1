// The plan interpreter: executes a plan on the CPU in plain loops, CTA by CTA: slots of phase 1,
// the gather of h, passes of phase 2, partial sums added in cluster order. fp32 sums and bf16
// rounding of h as the kernel; the order of sums inside an MMA is not the kernel's. For small
// problems. Pure function.
#ifndef FUSEBOX_SRC_PLAN_INTERPRETER_H_
#define FUSEBOX_SRC_PLAN_INTERPRETER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// bf16 as bits, row-major, dense. Shapes: src/shape/ffn_problem.h.
struct FfnOperands {
  int64_t tokens = 0;
  absl::Span<const uint16_t> gate;  // empty for a plain ffn
  absl::Span<const uint16_t> up;
  absl::Span<const uint16_t> down;
  absl::Span<const uint16_t> x;
  absl::Span<const uint16_t> residual;  // empty unless the residual mode is add_after
};

// y, [tokens, hidden] bf16; an element that the plan never writes stays NaN. InvalidArgument when
// the operands do not have the problem's shapes. REQUIRES: the field rules of legality.h hold.
absl::StatusOr<std::vector<uint16_t>> Interpret(const FusionPlan& plan,
                                                const FfnOperands& operands);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_INTERPRETER_H_
