// fp64 values of the device oracle with the bound on a kernel's distance from each: the functions
// of tests/reference/error_bound.h, on the device. Their meaning and the reasons for their
// constants are there.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_VALUE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_VALUE_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox {

constexpr double kAddError = 0x1.0p-23;
constexpr double kRoundError = 0x1.0p-24;
constexpr double kDeviations = 8.0;

// Of rounding a value of up to `magnitude` once.
template <bool kFp16>
__device__ inline double RoundingError(double magnitude) {
  return kFp16 ? fmax(0x1.0p-11 * magnitude, 0x1.0p-25) : 0x1.0p-8 * magnitude;
}

template <bool kFp16>
__device__ inline double ToDouble(u16 bits) {
  if constexpr (kFp16) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
  }
  return __uint_as_float(static_cast<u32>(bits) << 16);
}

// Nearest of the dtype, ties to even: to odd in fp32 first, so that the second rounding sees what
// was lost.
template <bool kFp16>
__device__ inline u16 BitsOf(double value) {
  float narrow = __double2float_rz(value);
  if (narrow == narrow && narrow != value) narrow = __uint_as_float(__float_as_uint(narrow) | 1u);
  u16 bits;
  if constexpr (kFp16) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(narrow));
  } else {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(narrow));
  }
  return bits;
}

template <bool kFp16>
__device__ inline double RoundDouble(double value) {
  return ToDouble<kFp16>(BitsOf<kFp16>(value));
}

__device__ inline double ReferenceWarpSum(double value) {
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

struct Estimate {
  double value = 0;
  double error = 0;
};

__device__ inline double RowSumError(i64 terms) {
  return kDeviations * kRoundError * (sqrt(static_cast<double>(terms) / 96.0) + 3.0);
}

// A sum over a warp, and over its terms.
struct ReferenceSum {
  double value = 0;
  double magnitude = 0;
  double error = 0;

  __device__ void Add(const Estimate& term) {
    value += term.value;
    magnitude += fabs(term.value);
    error += term.error;
  }
  __device__ void Finish() {
    value = ReferenceWarpSum(value);
    magnitude = ReferenceWarpSum(magnitude);
    error = ReferenceWarpSum(error);
  }
};

// As WeightedSum of error_bound.h, over a warp.
struct ReferenceWeightedSum {
  ReferenceSum products;
  double squares = 0;
  double carried_squares = 0;

  __device__ void Add(double weight, const Estimate& operand) {
    const Estimate term = {weight * operand.value, fabs(weight) * operand.error};
    products.Add(term);
    squares += term.value * term.value;
    carried_squares += term.error * term.error;
  }
  __device__ Estimate Finish(i64 terms) {
    products.Finish();
    const double norm = sqrt(ReferenceWarpSum(squares));
    const double carried_norm = sqrt(ReferenceWarpSum(carried_squares));
    const double partial = fmin(products.magnitude, fabs(products.value) + kDeviations * norm);
    const double carried = fmin(products.error, kDeviations * carried_norm);
    const double added = 4.0 * kAddError * sqrt(static_cast<double>(terms)) * partial;
    return {products.value, added + carried};
  }
};

// Rounding is monotone: the kernel's value lies between the roundings of the ends.
template <bool kFp16>
__device__ inline Estimate RoundedTo(const Estimate& estimate) {
  const double rounded = RoundDouble<kFp16>(estimate.value);
  return {rounded, fmax(fabs(RoundDouble<kFp16>(estimate.value - estimate.error) - rounded),
                        fabs(RoundDouble<kFp16>(estimate.value + estimate.error) - rounded))};
}

__device__ inline Estimate Sum(const Estimate& a, const Estimate& b) {
  const double value = a.value + b.value;
  const double error = a.error + b.error;
  return {value, error + kAddError * (fabs(value) + error)};
}

__device__ inline Estimate Shifted(const Estimate& sum, double bias) {
  return Sum(sum, {bias, 0.0});
}

__device__ inline Estimate Product(const Estimate& a, const Estimate& u) {
  const double value = a.value * u.value;
  return {value,
          a.error * (fabs(u.value) + u.error) + fabs(a.value) * u.error + kAddError * fabs(value)};
}

__device__ inline Estimate Activated(double activated, const Estimate& g) {
  return {activated, 1.13 * g.error + 0x1.0p-17 * fabs(activated) + 0x1.0p-22 * fabs(g.value)};
}

__device__ inline Estimate ActivatedSquare(const Estimate& g) {
  const Estimate positive = {fmax(g.value, 0.0), g.error};
  return Product(positive, positive);
}

__device__ inline Estimate Scaled(const Estimate& a, double factor) {
  return Product(a, {factor, kRoundError * fabs(factor)});
}

template <bool kFp16>
__device__ inline Estimate ActivatedInRoundedSteps(const Estimate& g) {
  const auto rounded = [](const Estimate& step) { return RoundedTo<kFp16>(step); };
  Estimate tanh_of = {copysign(1.0, g.value), 0.0};
  if (!(fabs(g.value) - g.error >= 8.0)) {
    const Estimate cube = rounded(Product(rounded(Product(g, g)), g));
    const Estimate inner = rounded(Sum(g, rounded(Scaled(cube, 0.044715))));
    const Estimate angle = rounded(Scaled(inner, 0.79788456080286535588));
    tanh_of = rounded({tanh(angle.value), angle.error + 8.0 * kAddError});
  }
  return Product(rounded(Scaled(g, 0.5)), rounded(Shifted(tanh_of, 1.0)));
}

__device__ inline double MeanError(double mean, double sum_error) {
  return sum_error + kAddError * fabs(mean);
}

__device__ inline double ScaleError(double variance, double mean_square_distance,
                                    double relative_sum_error) {
  const double root = sqrt(variance);
  const double nearest = root - sqrt(mean_square_distance);
  const double relative = relative_sum_error + 2.0 * kAddError;  // the division, and adding eps
  if (nearest <= 0.0) return __longlong_as_double(0x7ff8000000000000ll);
  return 1.0 / (nearest * sqrt(1.0 - relative)) - 1.0 / root + 2.0 * kAddError / nearest;
}

__device__ inline Estimate Centered(const Estimate& input, const Estimate& mean,
                                    const Estimate& scale) {
  const double value = input.value - mean.value;
  return Product({value, input.error + mean.error + kAddError * fabs(value)}, scale);
}

__device__ inline Estimate ScaledAndShifted(const Estimate& centered, double factor, double bias) {
  const double product = centered.value * factor;
  const double value = product + bias;
  return {value, centered.error * fabs(factor) + kAddError * (2.0 * fabs(product) + fabs(value))};
}

template <bool kFp16>
__device__ inline Estimate Output(const Estimate& f) {
  return {f.value, f.error + RoundingError<kFp16>(fabs(f.value) + f.error)};
}

template <bool kFp16>
__device__ inline Estimate OutputWithResidual(const Estimate& f, double residual) {
  const double error = f.error + 2.0 * RoundingError<kFp16>(fabs(f.value) + f.error);
  return {residual + RoundDouble<kFp16>(f.value),
          error + RoundingError<kFp16>(fabs(residual + f.value) + error)};
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_VALUE_CUH_
