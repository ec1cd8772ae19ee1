// Fusebox oracle reference_ffn_gated_relu_bf16_h0_i0_add_after: slow, for `fusebox verify` and tests; in fp64, with bounds
#include "kernels_templates/kernels/reference_compare.cuh"

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
                           fusebox::ReferenceDims dims, fusebox::ReferenceRows rows, unsigned short* sums) {
  fusebox::RunReferenceRows<Op>(x, residual, vectors, dims, rows, sums);
}

// Grid (intermediate / 8, tokens / 4), rounded up.
extern "C" __global__ void __launch_bounds__(256)
    fusebox_reference_intermediate(fusebox::ReferenceWeights gate, fusebox::ReferenceWeights up, fusebox::ReferenceVectors vectors,
                                   fusebox::ReferenceDims dims, fusebox::ReferenceRows rows, fusebox::ReferenceRows h) {
  fusebox::RunReferenceIntermediate<Op>(gate, up, vectors, dims, rows, h);
}

// Grid (hidden / 8, tokens / 4), rounded up.
extern "C" __global__ void __launch_bounds__(256)
    fusebox_reference_output(fusebox::ReferenceWeights down, fusebox::ReferenceMatrix residual, fusebox::ReferenceVectors vectors,
                             fusebox::ReferenceDims dims, fusebox::ReferenceRows h, fusebox::ReferenceRows y) {
  fusebox::RunReferenceOutput<Op>(down, residual, vectors, dims, h, y);
}

// Grid (1, tokens); for residual mode sandwich.
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_second_norm(fusebox::ReferenceMatrix x, fusebox::ReferenceVectors vectors, fusebox::ReferenceDims dims,
                                  fusebox::ReferenceRows y) {
  fusebox::RunReferenceSecondNorm<Op>(x, vectors, dims, y);
}

// One block.
extern "C" __global__ void __launch_bounds__(1024)
    fusebox_reference_compare(fusebox::ReferenceMatrix y, fusebox::ReferenceMatrix residual_out, fusebox::ReferenceDims dims,
                              fusebox::ReferenceRows expected, const unsigned short* sums, fusebox::ReferenceReport* report,
                              unsigned long long sequence) {
  fusebox::RunReferenceCompare<Op>(y, residual_out, dims, expected, sums, report, sequence);
}
