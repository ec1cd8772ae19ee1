// FfnCase is one input of an ffn: weights, activations and residual as bf16 bits, dense and
// row-major. Two generators: small integers, on which every order of summation gives the same bits,
// and random values of a model's magnitude. Both are the same on every machine for one seed. A
// value; no threads.
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
  std::vector<uint16_t> gate;      // [intermediate, hidden]; empty for a plain ffn
  std::vector<uint16_t> up;        // [intermediate, hidden]
  std::vector<uint16_t> down;      // [hidden, intermediate]
  std::vector<uint16_t> x;         // [tokens, hidden]
  std::vector<uint16_t> residual;  // [tokens, hidden]; empty unless add_after
  std::string description;         // code to paste: the generator's call
};

// Integers from -2 to 2, thinned out so that sums stay small: with relu all sums are integers below
// 2^24, exact in fp32 in any order (FfnReference::is_exact says so). Use with relu.
FfnCase MakeSmallIntegerCase(const FfnProblem& problem, int64_t tokens, uint64_t seed);

// Uniform values: x up to 1.7, weights scaled so that gate, up and y are of order 1.
FfnCase MakeRandomCase(const FfnProblem& problem, int64_t tokens, uint64_t seed);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_FFN_CASE_H_
