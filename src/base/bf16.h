// bf16 values as their 16 bits: the upper half of an fp32. Conversion rounds to nearest, ties to
// even, as cvt.rn.bf16.f32 does. Pure functions.
#ifndef FUSEBOX_SRC_BASE_BF16_H_
#define FUSEBOX_SRC_BASE_BF16_H_

#include <bit>
#include <cstdint>

namespace fusebox {

constexpr uint16_t kBf16QuietNan = 0x7fff;  // what cvt.rn.bf16.f32 makes of any NaN

constexpr float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

constexpr uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return kBf16QuietNan;
  const uint32_t tie_to_even = (bits >> 16) & 1u;
  return static_cast<uint16_t>((bits + 0x7fffu + tie_to_even) >>
                               16);  // overflow carries into infinity
}

}  // namespace fusebox

#endif  // FUSEBOX_SRC_BASE_BF16_H_
