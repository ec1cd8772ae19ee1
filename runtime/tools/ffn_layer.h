// FfnLayer is one layer's random weights on the GPU, packed, as a served model would have them:
// gate and up in one matrix, biases and norm weights where the op has them. Values are scaled so
// that sums are of order 1. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_FFN_LAYER_H_
#define FUSEBOX_RUNTIME_TOOLS_FFN_LAYER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/launch/ffn_operands.h"
#include "runtime/tools/device_buffer.h"
#include "runtime/tools/measure_kernels.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

constexpr float kActivationLimit = 1.7f;  // x and residual: uniform, variance about 1
constexpr float kNormEps = 0.25f;         // near the rows' mean square, so that a lost one shows

class FfnLayer {
 public:
  static absl::StatusOr<FfnLayer> Make(const GpuSession& session, const MeasureKernels& kernels,
                                       const FfnProblem& problem, uint32_t seed);

  fusebox_ffn_weights weights() const;  // for fusebox_ffn_bind, gate_up FUSED
  FfnOperandViews views() const;        // x and residual are empty
  const DeviceBuffer& up() const { return up_; }
  const DeviceBuffer& down() const { return down_; }

 private:
  FfnLayer(const FfnProblem& problem, DeviceBuffer up, DeviceBuffer down, DeviceBuffer vectors)
      : problem_(problem),
        up_(std::move(up)),
        down_(std::move(down)),
        vectors_(std::move(vectors)) {}
  FfnVectorViews vectors() const;

  FfnProblem problem_;
  DeviceBuffer up_;  // gated: gate rows, then up rows
  DeviceBuffer down_;
  DeviceBuffer vectors_;  // biases as up_'s rows, then down's; the norms' weight, bias, weight
};

// The desc of a problem, gate_up FUSED, for up to FUSEBOX_FFN_MAX_TOKENS. The API rounds as engines
// do: its op is the problem with Rounding::kEngine.
fusebox_ffn_desc DescOf(const FfnProblem& problem);

// OK, or the code and the message of the thread's last call as a Status that ExitCodeOf
// understands.
absl::Status ApiStatus(fusebox_status code);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_FFN_LAYER_H_
