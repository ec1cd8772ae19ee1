// UnfusedCost is what a server takes for an ffn without Fusebox, each operation a kernel of its own
// in a CUDA graph: norm and residual, one GEMM for gate and up (or for up), activation, one GEMM
// for down. Counted as the measured baseline runs it, cuBLAS through PyTorch: a gated activation is
// two kernels. Biases ride on a GEMM. What nobody measured, norms and residuals, counts as one
// elementwise kernel each; an addition before the norm is part of the norm's.
// Deterministic on every machine: only + - * / and sqrt, no contraction. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_UNFUSED_COST_H_
#define FUSEBOX_SRC_PLAN_UNFUSED_COST_H_

#include <cstdint>
#include <string>

#include "src/device/device_spec.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct UnfusedCost {
  double norm_us = 0;  // norms and residual additions, before and behind the block
  double up_us = 0;
  double activation_us = 0;
  double down_us = 0;
  double us() const;

  std::string ToJson() const;  // every term and the total; 3 decimals
};

UnfusedCost EstimateUnfused(const FfnProblem& problem, int64_t tokens, const DeviceSpec& device);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_UNFUSED_COST_H_
