// A case of the oracle as operands of the interpreter.
#ifndef FUSEBOX_TESTS_DIFFERENTIAL_CASE_OPERANDS_H_
#define FUSEBOX_TESTS_DIFFERENTIAL_CASE_OPERANDS_H_

#include "src/plan/interpreter.h"
#include "tests/reference/ffn_case.h"

namespace fusebox {

// Borrows from `input`.
inline FfnOperands OperandsOf(const reference::FfnCase& input) {
  return {.tokens = input.tokens,
          .gate = input.gate,
          .up = input.up,
          .down = input.down,
          .x = input.x,
          .residual = input.residual,
          .gate_bias = input.gate_bias,
          .up_bias = input.up_bias,
          .down_bias = input.down_bias,
          .norm_weight = input.norm_weight,
          .norm_bias = input.norm_bias,
          .second_norm_weight = input.second_norm_weight,
          .eps = input.eps};
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_DIFFERENTIAL_CASE_OPERANDS_H_
