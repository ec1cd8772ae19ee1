// Fusebox oracle reference_ffn_gated_relu_bf16_h0_i0_add_after: slow, for `fusebox verify` and tests; one block of 32 threads an element or a token
#include "kernels_templates/kernels/ffn_reference.cuh"

namespace {

struct Op {
  static constexpr bool kFp16 = false;
  static constexpr bool kGated = true;
  static constexpr fusebox::ReferenceActivation kActivation = fusebox::ReferenceActivation::kRelu;
  static constexpr fusebox::ReferenceNorm kNorm = fusebox::ReferenceNorm::kNone;
  static constexpr fusebox::ReferenceResidual kResidual = fusebox::ReferenceResidual::kAddAfter;
  static constexpr bool kEngineRounding = true;
  static constexpr bool kUpBias = false;
  static constexpr bool kDownBias = false;
};

}  // namespace

// Grid (1, tokens).
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_rows(fusebox::ReferenceMatrix x, fusebox::ReferenceMatrix residual, fusebox::ReferenceVectors vectors,
                           long long hidden, fusebox::ReferenceRows rows, unsigned short* sums) {
  fusebox::RunReferenceRows<Op>(x, residual, vectors, hidden, rows, sums);
}

// Grid (intermediate, tokens).
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_intermediate(fusebox::ReferenceMatrix gate, fusebox::ReferenceMatrix up, fusebox::ReferenceVectors vectors,
                                   long long hidden, fusebox::ReferenceRows rows, fusebox::ReferenceRows h) {
  fusebox::RunReferenceIntermediate<Op>(gate, up, vectors, hidden, rows, h);
}

// Grid (hidden, tokens).
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_output(fusebox::ReferenceMatrix down, fusebox::ReferenceMatrix residual, fusebox::ReferenceVectors vectors,
                             long long intermediate, fusebox::ReferenceRows h, fusebox::ReferenceRows y) {
  fusebox::RunReferenceOutput<Op>(down, residual, vectors, intermediate, h, y);
}

// Grid (1, tokens); for residual mode sandwich.
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_second_norm(fusebox::ReferenceMatrix x, fusebox::ReferenceVectors vectors, long long hidden,
                                  fusebox::ReferenceRows y) {
  fusebox::RunReferenceSecondNorm<Op>(x, vectors, hidden, y);
}
