// Activation functions, fp32 in and out. Each maps 0 to 0, so that zero-filled tails stay zero.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_

#include "kernels_templates/ptx/convert.cuh"

namespace fusebox {

enum class Activation { kSilu, kGeluErf, kRelu };

template <Activation kActivation>
__device__ __forceinline__ float Activate(float v) {
  if constexpr (kActivation == Activation::kSilu) {
    constexpr float kLog2E = 1.4426950408889634f;
    return v * ptx::Reciprocal(1.0f + ptx::Exp2(-kLog2E * v));
  } else if constexpr (kActivation == Activation::kGeluErf) {
    constexpr float kSqrtHalf = 0.7071067811865476f;
    return 0.5f * v * (1.0f + erff(v * kSqrtHalf));
  } else {
    static_assert(kActivation == Activation::kRelu, "Activation must be silu, gelu_erf or relu");
    return v < 0.0f ? 0.0f : v;  // a NaN stays one, as in PyTorch
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_
