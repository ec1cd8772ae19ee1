// FfnCase is one input of an ffn: weights, vectors, activations and residual as bits of the
// problem's dtype, dense and row-major. Two generators: small integers, on which every order of
// summation gives the same bits, and random values of a model's magnitude. Both are the same on
// every machine for one seed. A value; no threads.
#ifndef FUSEBOX_TESTS_REFERENCE_FFN_CASE_H_
#define FUSEBOX_TESTS_REFERENCE_FFN_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/shape/ffn_problem.h"

namespace fusebox::reference {

struct FfnCase {
  FfnProblem problem;
  int64_t tokens = 0;
  std::vector<uint16_t> gate;  // [intermediate, hidden]; empty for a plain ffn
  std::vector<uint16_t> up;    // [intermediate, hidden]
  std::vector<uint16_t> down;  // [hidden, intermediate]
  std::vector<uint16_t> x;     // [tokens, hidden]
  // Below, empty is what the problem does not have.
  std::vector<uint16_t> residual;     // [tokens, hidden]; modes add_before_norm and add_after
  std::vector<uint16_t> gate_bias;    // [intermediate]
  std::vector<uint16_t> up_bias;      // [intermediate]
  std::vector<uint16_t> down_bias;    // [hidden]
  std::vector<uint16_t> norm_weight;  // [hidden]
  std::vector<uint16_t> norm_bias;    // [hidden]; LayerNorm
  std::vector<uint16_t> second_norm_weight;  // [hidden]; mode sandwich
  float eps = 1e-5f;
  std::string description;  // code to paste: the generator's call
};

// Integers from -2 to 2, thinned out so that sums stay small: with relu or relu_squared and no norm
// all sums are integers below 2^24, exact in fp32 in any order (FfnReference::is_exact says so).
// Use with those.
FfnCase MakeSmallIntegerCase(const FfnProblem& problem, int64_t tokens, uint64_t seed);

// Uniform values: x up to 1.7, weights scaled so that gate, up and y are of order 1; biases up to
// 1, norm weights of order 1 after the norm's own addition.
FfnCase MakeRandomCase(const FfnProblem& problem, int64_t tokens, uint64_t seed);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_FFN_CASE_H_
