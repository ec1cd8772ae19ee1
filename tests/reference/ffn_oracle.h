// The oracle of the ffn: fp64 triple loops over an FfnCase, with the error that a kernel may make
// on each element. Slow and plain on purpose; shares no code with src/plan or the kernels. Pure
// functions.
#ifndef FUSEBOX_TESTS_REFERENCE_FFN_ORACLE_H_
#define FUSEBOX_TESTS_REFERENCE_FFN_ORACLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/reference/ffn_case.h"

namespace fusebox::reference {

// What becomes of h before phase 2. kDType: all rounding points of the op; kNone: h is left as it
// is, for formulas.
enum class IntermediateRounding : int32_t { kDType = 1, kNone = 2 };

struct FfnReference {
  // [tokens, hidden], not rounded; what a residual is added to is: the block's output, or its norm.
  std::vector<double> y;
  std::vector<double> tolerance;  // [tokens, hidden]: bound on |kernel's y - y|
  std::vector<uint16_t> bits;     // [tokens, hidden]: y in the dtype, for exact cases
  // [tokens, hidden], mode add_before_norm: x + residual; exact in every case.
  std::vector<uint16_t> residual_out;
  bool is_exact = false;  // all sums are integers below 2^24: any order gives `bits`
};

FfnReference ComputeReference(const FfnCase& input,
                              IntermediateRounding rounding = IntermediateRounding::kDType);

struct Comparison {
  double worst_ratio = 0;  // largest |y - reference| / tolerance; above 1: wrong
  std::string failure;     // empty, or the first wrong element and the case as code
  bool ok() const { return failure.empty(); }
};

// `y` is [tokens, hidden] in bits of the dtype. NaN and infinity are wrong wherever the reference
// is finite.
Comparison CompareWithinBound(const FfnCase& input, const FfnReference& reference,
                              std::span<const uint16_t> y);

// Bit for bit. REQUIRES: reference.is_exact.
Comparison CompareExactly(const FfnCase& input, const FfnReference& reference,
                          std::span<const uint16_t> y);

// residual_out, bit for bit, whether or not the case is exact.
Comparison CompareResidualOut(const FfnCase& input, const FfnReference& reference,
                              std::span<const uint16_t> residual_out);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_FFN_ORACLE_H_
