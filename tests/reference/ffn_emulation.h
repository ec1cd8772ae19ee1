// EmulateKernel computes an ffn in fp32 as a kernel may: sums of 16 products added with truncation,
// as tensor cores do, the intermediate in parts that are added in turn, rounding where kernels
// round. It shows that the oracle's bound holds at real dims, where no kernel can run, and with a
// mistake built in, what the bound catches. Shares no code with the oracle. Pure function.
#ifndef FUSEBOX_TESTS_REFERENCE_FFN_EMULATION_H_
#define FUSEBOX_TESTS_REFERENCE_FFN_EMULATION_H_

#include <cstdint>
#include <vector>

#include "tests/reference/ffn_case.h"

namespace fusebox::reference {

enum class Mistake {
  kNone,
  kHalvedEps,            // in both norms
  kNoPlusOne,            // weight in place of 1 + weight, in the second norm
  kNoSecondWeight,       // the second norm's weight is 1
  kDroppedIntermediate,  // h[dropped] is 0
  kDroppedPart,          // the last part of the intermediate is not added
};

struct Emulation {
  Mistake mistake = Mistake::kNone;
  int64_t dropped = 0;
  int64_t part = 640;  // intermediate rows of a part; a multiple of 16
};

// [tokens, hidden] bits. REQUIRES: gated silu, hidden and intermediate multiples of 16, no biases,
// norm rms or rms_plus_one, residual mode sandwich.
std::vector<uint16_t> EmulateKernel(const FfnCase& input, const Emulation& emulation = {});

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_FFN_EMULATION_H_
