// Elements of tensors as their 16 bits, by dtype. Pure functions.
#ifndef FUSEBOX_SRC_SHAPE_ELEMENT_H_
#define FUSEBOX_SRC_SHAPE_ELEMENT_H_

#include <cstdint>

#include "src/base/bf16.h"
#include "src/base/fp16.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

constexpr uint16_t kQuietNan = 0x7fff;  // a NaN in either dtype
static_assert(kQuietNan == kBf16QuietNan && kQuietNan == kFp16QuietNan);

constexpr float ElementToFloat(DType dtype, uint16_t bits) {
  return dtype == DType::kBf16 ? Bf16ToFloat(bits) : Fp16ToFloat(bits);
}

// To nearest, ties to even.
constexpr uint16_t FloatToElement(DType dtype, float value) {
  return dtype == DType::kBf16 ? FloatToBf16(value) : FloatToFp16(value);
}

constexpr float RoundToElement(DType dtype, float value) {
  return ElementToFloat(dtype, FloatToElement(dtype, value));
}

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SHAPE_ELEMENT_H_
