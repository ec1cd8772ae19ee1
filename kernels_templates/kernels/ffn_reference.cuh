// The slow oracle of the ffn on the device, for dims that the fp64 oracle of tests/reference is too
// slow for: fp64 loops, one warp an element, the kernel's one rounding point (h to bf16). Beside
// each y it gives the bound on a kernel's error that tests/reference/error_bound.h derives; a test
// on the GPU holds both against that oracle. Shares nothing with the ffn kernel. One block of 32
// threads for each element (x: row, y: token).
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox {

enum class ReferenceActivation { kSilu, kGeluErf, kRelu };

// Row-major bf16; stride in elements.
struct ReferenceMatrix {
  const u16* values;
  i64 row_stride;

  __device__ const u16* Row(i64 row) const { return values + row * row_stride; }
};

__device__ inline double Bf16ToDouble(u16 bits) {
  return __uint_as_float(static_cast<u32>(bits) << 16);
}

// Nearest bf16, ties to even: to odd in fp32 first, so that the second rounding sees what was lost.
__device__ inline double RoundDoubleToBf16(double value) {
  float narrow = __double2float_rz(value);
  if (narrow != narrow) return value;
  if (narrow != value) narrow = __uint_as_float(__float_as_uint(narrow) | 1u);
  const u32 bits = __float_as_uint(narrow);
  return __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

__device__ inline double WarpSum(double value) {
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

// An fp64 sum of products, and how far an fp32 sum may be from it (error_bound.h, SumError).
struct ReferenceSum {
  double value = 0;
  double magnitude = 0;

  __device__ void Add(double product) {
    value += product;
    magnitude += fabs(product);
  }
  __device__ void Finish() {
    value = WarpSum(value);
    magnitude = WarpSum(magnitude);
  }
  __device__ double Error(i64 terms) const {
    return 4.0 * 0x1.0p-23 * sqrt(static_cast<double>(terms)) * magnitude;
  }
};

__device__ inline ReferenceSum ReferenceDot(const u16* weights, const u16* x, i64 count) {
  ReferenceSum sum;
  for (i64 k = threadIdx.x; k < count; k += kWarpThreads)
    sum.Add(Bf16ToDouble(weights[k]) * Bf16ToDouble(x[k]));
  sum.Finish();
  return sum;
}

template <ReferenceActivation kActivation>
__device__ double ReferenceActivate(double v) {
  if constexpr (kActivation == ReferenceActivation::kSilu) {
    return v / (1.0 + exp(-v));
  } else if constexpr (kActivation == ReferenceActivation::kGeluErf) {
    return 0.5 * v * erfc(-v * 0.70710678118654752440);
  } else {
    return v < 0.0 ? 0.0 : v;
  }
}

// h and h_error are [tokens, intermediate]; gate.values is null for a plain ffn.
template <typename Op>
__device__ void RunReferenceIntermediate(ReferenceMatrix gate, ReferenceMatrix up,
                                         ReferenceMatrix x, i64 hidden, double* h,
                                         double* h_error) {
  const i64 row = blockIdx.x;
  const i64 token = blockIdx.y;
  const ReferenceSum u = ReferenceDot(up.Row(row), x.Row(token), hidden);
  ReferenceSum g = u;
  if constexpr (Op::kGated) g = ReferenceDot(gate.Row(row), x.Row(token), hidden);
  double value = ReferenceActivate<Op::kActivation>(g.value);
  // ActivationError, ProductError, RoundedError of error_bound.h.
  double error = 1.13 * g.Error(hidden) + 0x1.0p-17 * fabs(value) + 0x1.0p-22 * fabs(g.value);
  if constexpr (Op::kGated) {
    const double u_error = u.Error(hidden);
    error = error * (fabs(u.value) + u_error) + fabs(value) * u_error +
            0x1.0p-23 * fabs(value * u.value);
    value *= u.value;
  }
  const double rounded = RoundDoubleToBf16(value);
  if (threadIdx.x != 0) return;
  h[token * gridDim.x + row] = rounded;
  h_error[token * gridDim.x + row] = fmax(fabs(RoundDoubleToBf16(value - error) - rounded),
                                          fabs(RoundDoubleToBf16(value + error) - rounded));
}

// y and tolerance are [tokens, hidden]: y not rounded (with a residual: residual + bf16(f)).
template <typename Op>
__device__ void RunReferenceOutput(ReferenceMatrix down, ReferenceMatrix residual, i64 intermediate,
                                   const double* h, const double* h_error, double* y,
                                   double* tolerance) {
  const i64 row = blockIdx.x;
  const i64 token = blockIdx.y;
  const u16* weights = down.Row(row);
  ReferenceSum f;
  double from_h = 0;
  for (i64 n = threadIdx.x; n < intermediate; n += kWarpThreads) {
    const double weight = Bf16ToDouble(weights[n]);
    f.Add(weight * h[token * intermediate + n]);
    from_h += fabs(weight) * h_error[token * intermediate + n];
  }
  f.Finish();
  double error = f.Error(intermediate) + WarpSum(from_h);
  if (threadIdx.x != 0) return;
  double value = f.value;
  const double reach = fabs(value) + error;
  if constexpr (Op::kAddResidual) {  // OutputErrorWithResidual
    const double added = Bf16ToDouble(residual.Row(token)[row]);
    error += 2.0 * 0x1.0p-8 * reach;
    error += 0x1.0p-8 * (fabs(added + value) + error);
    value = added + RoundDoubleToBf16(value);
  } else {  // OutputError
    error += 0x1.0p-8 * reach;
  }
  y[token * gridDim.x + row] = value;
  tolerance[token * gridDim.x + row] = error;
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
