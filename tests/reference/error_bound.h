// How far a bf16 kernel may be from the fp64 oracle, per element. The only place with tolerances;
// host and gpu tests and the oracle use it.
//
// Notation: u16 = 2^-8, the rounding error of bf16; u32 = 2^-23, of one addition on tensor cores,
// which truncate where fp32 would round; c = 4.
//   sum of n products:   c u32 sqrt(n) sum|a||b|. Rounding errors of n additions grow like sqrt(n);
//   c = 4
//                        covers their spread and the bias of truncating one sum every 16 products
//                        up to n = 4096 (n/16 = 4 sqrt(n)), while real partial sums are far below
//                        sum|a||b|.
//   h = act(g) u:        |act'| <= 1.13 (gelu 1.129, silu 1.100, relu 1) carries g's error over;
//   the
//                        activation itself is good to 2^-17 of its value (ex2.approx with an
//                        argument up to 128) plus 2^-22 |g| (1 + erf cancels for negative g).
//   rounding of h:       rounding is monotone, so the kernel's h lies between the roundings of h -
//   e and
//                        h + e; where both give the oracle's h nothing is added, else their
//                        distance is.
//   y:                   each of h's distances times |w|, plus the sum's own error, then u16 for
//   each
//                        rounding to bf16.
// Pure functions.
#ifndef FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_
#define FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_

#include <cstdint>

namespace fusebox::reference {

// Nearest bf16 of a double, ties to even, as a value: no second rounding through fp32.
double RoundDoubleToBf16(double value);

// Error of an fp32 sum of `terms` products whose absolute values add up to `sum_of_magnitudes`.
double SumError(int64_t terms, double sum_of_magnitudes);

// Error of act(g) given g's; `activated` = act(g).
double ActivationError(double g, double g_error, double activated);

// Error of act(g) * u given both errors.
double ProductError(double a, double a_error, double u, double u_error);

// Distance between the kernel's rounded h and the oracle's, given the error before rounding.
double RoundedError(double h, double h_error);

// Bound on |kernel's bf16 y - y|, where y = f, or residual + bf16(f); `f_error` is f's error in
// fp32.
double OutputError(double f, double f_error);
double OutputErrorWithResidual(double f, double f_error, double residual);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_ERROR_BOUND_H_
