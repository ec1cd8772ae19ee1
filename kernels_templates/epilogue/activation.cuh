// Activation functions, fp32 in and out; dtype and rounding matter to kGeluNew alone. Each maps 0
// to 0, so that zero-filled tails stay zero.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_

#include "kernels_templates/ptx/convert.cuh"

namespace fusebox {

enum class Activation { kSilu, kGeluErf, kGeluTanh, kRelu, kReluSquared, kGeluNew };

// Where intermediate values are rounded to the dtype: kFused nowhere but in h itself; kEngine as
// separate operations do: each projection's output, and the activation's.
enum class Rounding { kFused, kEngine };

// 0.5 v (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3))) as transformers' NewGELUActivation runs it:
// tensor operations in fp32, each result rounded to the dtype; PyTorch's pow(v, 3) is two products.
// Not rounded: the last product, which is the activation's result. tanh u = 1 - 2 / (1 + e^2u) is
// good to 2^-20, far below a unit of the 1 + tanh that follows; tanh.approx, good to 2^-11, would
// flip roundings to fp16. Half of a v of the dtype is exact unless subnormal, and there 1 + tanh is
// 1: the result's own rounding is enough, and one more made fp16 kernels for 128 tokens spill.
template <DType kDType, Rounding kRounding>
__device__ __forceinline__ float GeluInRoundedSteps(float v) {
  constexpr float kSqrtTwoOverPi = 0.7978845608028654f;
  constexpr float kTwoLog2E = 2.8853900817779268f;
  const float cube = ptx::Round<kDType>(ptx::Round<kDType>(v * v) * v);
  const float inner = ptx::Round<kDType>(v + ptx::Round<kDType>(0.044715f * cube));
  const float exponential = ptx::Exp2(kTwoLog2E * ptx::Round<kDType>(kSqrtTwoOverPi * inner));
  const float tanh = ptx::Round<kDType>(1.0f - 2.0f * ptx::Reciprocal(1.0f + exponential));
  const float half = 0.5f * v;
  return (kRounding == Rounding::kEngine ? half : ptx::Round<kDType>(half)) *
         ptx::Round<kDType>(1.0f + tanh);
}

template <Activation kActivation, DType kDType, Rounding kRounding>
__device__ __forceinline__ float Activate(float v) {
  if constexpr (kActivation == Activation::kSilu) {
    constexpr float kLog2E = 1.4426950408889634f;
    return v * ptx::Reciprocal(1.0f + ptx::Exp2(-kLog2E * v));
  } else if constexpr (kActivation == Activation::kGeluErf) {
    constexpr float kSqrtHalf = 0.7071067811865476f;
    return 0.5f * v * (1.0f + erff(v * kSqrtHalf));
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    // 0.5 v (1 + tanh(u)) = v sigmoid(2u), u = sqrt(2/pi) (v + 0.044715 v^3)
    constexpr float kTwoSqrtTwoOverPi = 1.5957691216057308f;
    constexpr float kLog2E = 1.4426950408889634f;
    const float two_u = kTwoSqrtTwoOverPi * (v + 0.044715f * v * v * v);
    return v * ptx::Reciprocal(1.0f + ptx::Exp2(-kLog2E * two_u));
  } else if constexpr (kActivation == Activation::kGeluNew) {
    return GeluInRoundedSteps<kDType, kRounding>(v);
  } else if constexpr (kActivation == Activation::kReluSquared) {
    const float positive = v < 0.0f ? 0.0f : v;
    return positive * positive;
  } else {
    static_assert(kActivation == Activation::kRelu, "an activation without a function");
    return v < 0.0f ? 0.0f : v;  // a NaN stays one, as in PyTorch
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EPILOGUE_ACTIVATION_CUH_
