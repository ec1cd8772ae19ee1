// What an ffn computes with, as views of device memory: of a layer's weights and vectors, and of
// one launch's rows. Values; borrowed memory.
#ifndef FUSEBOX_RUNTIME_LAUNCH_FFN_OPERANDS_H_
#define FUSEBOX_RUNTIME_LAUNCH_FFN_OPERANDS_H_

#include <cstdint>

#include "runtime/launch/tensor_map.h"

namespace fusebox {

// Packed; null where the op has none.
struct FfnVectorViews {
  const uint16_t* gate_bias = nullptr;  // [intermediate]
  const uint16_t* up_bias = nullptr;    // [intermediate]
  const uint16_t* down_bias = nullptr;  // [hidden]
  const uint16_t* norm_weight = nullptr;
  const uint16_t* norm_bias = nullptr;
  const uint16_t* second_norm_weight = nullptr;
  float eps = 0;
};

// `gate` is empty for a plain ffn; `residual` is read in the modes add_before_norm and add_after.
struct FfnOperandViews {
  MatrixView gate;
  MatrixView up;
  MatrixView down;
  FfnVectorViews vectors;
  MatrixView x;  // rows: the tokens
  MatrixView residual;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_FFN_OPERANDS_H_
