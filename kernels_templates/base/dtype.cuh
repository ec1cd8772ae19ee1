// The 16-bit floating-point types of weights and activations.
#ifndef FUSEBOX_KERNELS_TEMPLATES_BASE_DTYPE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_BASE_DTYPE_CUH_

namespace fusebox {

enum class DType { kBf16, kFp16 };

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_BASE_DTYPE_CUH_
