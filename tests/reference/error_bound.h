// How far a kernel may be from the fp64 oracle, per element. The only place with tolerances; host
// and gpu tests and both oracles use it. An Estimate is a value of the oracle and the bound on the
// kernel's distance from it; each function below carries both through one operation.
//
// Notation: u16 = half a unit in the last place, 2^-8 of a bf16, 2^-11 of an fp16 (2^-25 where it
// is subnormal); u32 = 2^-23, the error of one addition on tensor cores, which truncate where fp32
// would round (other fp32 operations are held to it too, twice what they need); c = 4.
//   sum of n terms:  c u32 sqrt(n) P, P no less than any partial sum. Rounding errors of n
//   additions
//                    grow like sqrt(n); c covers their spread, and the bias of truncating one sum
//                    every 16 products: n/16 losses of up to u32 of the partial sum, which is below
//                    P/8 on average (a random walk of n terms of norm s is 0.53 s from 0), and
//                    n/128 < c sqrt(n) for all n below 2^18.
//   products with weights: the signs of a weight matrix are taken to be independent of each other,
//                    of the operands, and of the operands' errors (which earlier stages made, with
//                    other weights). Then a sum of t_i with those signs is beyond z ||t|| with a
//                    probability of at most 2 exp(-z^2/2) (Hoeffding 1963, theorem 2), z = 8:
//                    3e-14. So P = min(sum|t|, |sum t| + z ||t||), and operands that are off by up
//                    to e_i move the sum by up to min(sum|w||e|, z ||we||): the first surely, the
//                    second but for 3e-14. Nothing is assumed of the e_i; they may all have one
//                    sign. Random cases have such weights; trained ones can be expected to, as what
//                    decides an e_i is how near a value lies to a tie of its rounding.
//   activation:      |act'| <= 1.13 (gelu_erf and gelu_tanh 1.129, silu 1.100, relu 1) carries g's
//                    error over; the function itself is good to 2^-17 of its value (ex2.approx with
//                    an argument up to 128) plus 2^-22 |g| (1 + erf cancels for negative g; in
//                    gelu_tanh nine roundings of an exponent e, of which e 2^-e < 0.54 counts).
//                    relu_squared: a product of p with itself. gelu_new: its operations one by one,
//                    each as below with the rounding after it; a constant is off by up to 2^-24 of
//                    itself, and |tanh'| <= 1 carries the angle's error over to 1 - 2 / (1 + e^2u):
//                    1.2 u32 for ex2.approx and its argument, 1 for the sum, 2 for rcp.approx, 0.5
//                    for the difference, together below 8 u32. Where |g| >= 8, tanh of what is 24
//                    or more rounds to 1 or -1, be it of an infinite cube, which fp16 has from 40.
//   rounding:        is monotone, so the kernel's value lies between the roundings of v - e and v +
//                    e; where both give the oracle's value nothing is added, else their distance
//                    is: a unit in the last place for a rounding that may flip. The same at every
//                    rounding point of Rounding::kEngine, of the norms and of h.
//   norm:            mean and squares are sums that 32 lanes or more share, with fp32 additions
//   that
//                    round: chains of n/32 roundings of up to 2^-24 of the lane's sum so far, a
//                    third of the square of its last on average, then 5 to join the lanes, 4 for
//                    the term and the last steps. Taken as independent they stay below z 2^-24
//                    (sqrt(n/96) + 3) of the sum of magnitudes (Higham and Mary 2019), z as above.
//                    A row whose root mean square is s, and that of its elements' distances d, has
//                    one of at least s - d (triangle inequality); with r of adding the squares the
//                    scale is off by up to 1 / ((s - d) sqrt(1 - r)) - 1 / s, and 2 u32 / (s - d)
//                    for taking the root. The products of two rounded values (x * scale, times w)
//                    are exact in fp32.
//   y:               the sum's error, then u16 for each rounding to the dtype.
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

// Of a mean or a mean square over a row of `terms` elements, over the mean of the magnitudes.
double RowSumError(int64_t terms);

// The products of one row of weights with operands that may be off.
class WeightedSum {
 public:
  void Add(double weight, const Estimate& operand);
  Estimate Finish() const;
  double magnitude() const { return magnitude_; }  // sum of |w||operand|

 private:
  int64_t terms_ = 0;
  double value_ = 0;
  double magnitude_ = 0;
  double squares_ = 0;
  double carried_ = 0;
  double carried_squares_ = 0;
};

Estimate Sum(const Estimate& a, const Estimate& b);
// sum + bias.
Estimate Shifted(const Estimate& sum, double bias);

// `activated` = act(g), of any activation but these two.
Estimate Activated(double activated, const Estimate& g);
// relu(g)^2.
Estimate ActivatedSquare(const Estimate& g);
// gelu_new, but for the rounding of its last product.
Estimate ActivatedInRoundedSteps(DType dtype, const Estimate& g);

Estimate Product(const Estimate& a, const Estimate& u);

// The kernel's rounded value and the oracle's.
Estimate RoundedTo(DType dtype, const Estimate& estimate);

// A norm's parts. `sum_error`: of the sum, divided as the sum was.
double MeanError(double mean, double sum_error);
// Error of 1 / sqrt(variance); `variance` with eps. By the triangle inequality a row's root mean
// square differs by at most that of its elements' distances; NaN, which nothing is within, where
// they may be as large as the row itself. `relative_sum_error`: RowSumError.
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
