// Fusebox oracle ffn_reference_gated_relu_add_after: slow, for `fusebox verify` and tests; one block of 32 threads an element
#include "kernels_templates/kernels/ffn_reference.cuh"

namespace {

struct Op {
  static constexpr bool kGated = true;
  static constexpr fusebox::ReferenceActivation kActivation = fusebox::ReferenceActivation::kRelu;
  static constexpr bool kAddResidual = true;
};

}  // namespace

// Grid (intermediate, tokens).
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_intermediate(fusebox::ReferenceMatrix gate, fusebox::ReferenceMatrix up, fusebox::ReferenceMatrix x,
                                   long long hidden, double* h, double* h_error) {
  fusebox::RunReferenceIntermediate<Op>(gate, up, x, hidden, h, h_error);
}

// Grid (hidden, tokens).
extern "C" __global__ void __launch_bounds__(32)
    fusebox_reference_output(fusebox::ReferenceMatrix down, fusebox::ReferenceMatrix residual, long long intermediate,
                             const double* h, const double* h_error, double* y, double* tolerance) {
  fusebox::RunReferenceOutput<Op>(down, residual, intermediate, h, h_error, y, tolerance);
}
