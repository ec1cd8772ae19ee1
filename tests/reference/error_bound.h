// How far a kernel may be from the fp64 oracle, per element. The only place with tolerances; host
// and gpu tests and both oracles use it. An Estimate is a value of the oracle and the bound on the
// kernel's distance from it; each function below carries both through one operation.
//
// Notation: u16 = half a unit in the last place, 2^-8 of a bf16, 2^-11 of an fp16 (2^-25 where it
// is subnormal); u32 = 2^-23, the error of one addition on tensor cores, which truncate where fp32
// would round (other fp32 operations are held to it too, twice what they need); c = 4.
//   sum of n terms:  c u32 sqrt(n) sum|term|. Rounding errors of n additions grow like sqrt(n); c
//                    covers their spread and the bias of truncating one sum every 16 products up to
//                    n = 4096 (n/16 = 4 sqrt(n)), while real partial sums are far below sum|term|.
//   activation:      |act'| <= 1.13 (gelu_erf and gelu_tanh 1.129, silu 1.100, relu 1) carries g's
//                    error over; the function itself is good to 2^-17 of its value (ex2.approx with
//                    an argument up to 128) plus 2^-22 |g| (1 + erf cancels for negative g; in
//                    gelu_tanh nine roundings of an exponent e, of which e 2^-e < 0.54 counts).
//                    relu_squared: a product of p with itself.
//   rounding:        is monotone, so the kernel's value lies between the roundings of v - e and v +
//                    e; where both give the oracle's value nothing is added, else their distance
//                    is: a unit in the last place for a rounding that may flip. The same at every
//                    rounding point of Rounding::kEngine, of the norms and of h.
//   norm:            mean and squares are sums. A row whose root mean square is s, and that of its
//                    elements' distances d, has one of at least s - d (triangle inequality); with
//                    r of adding the squares the scale is off by up to 1 / ((s - d) sqrt(1 - r)) -
//                    1 / s, and 2 u32 / (s - d) for taking the root. The products of two rounded
//                    values (x * scale, times w) are exact in fp32.
//   y:               each of h's distances times |w|, plus the sum's own error, then u16 for each
//                    rounding to the dtype.
// Pure functions.
#ifndef FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_
#define FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_

#include <cstdint>

#include "src/shape/ffn_problem.h"

namespace fusebox::reference {

struct Estimate {
  double value = 0;
  double error = 0;
};

// Nearest element of the dtype to a double, ties to even, as a value: no second rounding through
// fp32.
double RoundDouble(DType dtype, double value);

// Error of an fp32 sum of `terms` terms whose absolute values add up to `sum_of_magnitudes`.
double SumError(int64_t terms, double sum_of_magnitudes);

// sum + bias.
Estimate Shifted(const Estimate& sum, double bias);

// `activated` = act(g), of any activation but relu_squared.
Estimate Activated(double activated, const Estimate& g);
// relu(g)^2.
Estimate ActivatedSquare(const Estimate& g);

Estimate Product(const Estimate& a, const Estimate& u);

// The kernel's rounded value and the oracle's.
Estimate RoundedTo(DType dtype, const Estimate& estimate);

// A norm's parts. `sum_error`: of the sum, divided as the sum was.
double MeanError(double mean, double sum_error);
// Error of 1 / sqrt(variance); `variance` with eps. By the triangle inequality a row's root mean
// square differs by at most that of its elements' distances; NaN, which nothing is within, where
// they may be as large as the row itself. `relative_sum_error`: of adding the squares in fp32.
double ScaleError(double variance, double mean_square_distance, double relative_sum_error);
// (input - mean) * scale.
Estimate Centered(const Estimate& input, const Estimate& mean, const Estimate& scale);
// centered * factor + bias, all in fp32.
Estimate ScaledAndShifted(const Estimate& centered, double factor, double bias);

// A y that the oracle leaves unrounded and the kernel rounds: f, or residual + the rounded f.
Estimate Output(DType dtype, const Estimate& f);
Estimate OutputWithResidual(DType dtype, const Estimate& f, double residual);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_
