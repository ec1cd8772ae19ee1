// fp16 values (IEEE binary16) as their 16 bits. Conversion rounds to nearest, ties to even, as
// cvt.rn.f16.f32 does: what rounds beyond 65504 is infinite, subnormals are kept. Pure functions.
#ifndef FUSEBOX_SRC_BASE_FP16_H_
#define FUSEBOX_SRC_BASE_FP16_H_

#include <bit>
#include <cstdint>

namespace fusebox {

constexpr uint16_t kFp16QuietNan = 0x7fff;  // what cvt.rn.f16.f32 makes of any NaN

constexpr float Fp16ToFloat(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity and NaN: the exponent of all ones
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x400u) {  // zero and subnormals: multiples of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1.0p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

constexpr uint16_t FloatToFp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kFp16QuietNan;
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 2^16 on
  if (magnitude < 0x38800000u) {  // below 2^-14: floats beside 0.5 are 2^-24 apart too
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t tie_to_even = (magnitude >> 13) & 1u;
  const uint32_t rounded = magnitude + 0xfffu + tie_to_even;  // overflow carries into infinity
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

}  // namespace fusebox

#endif  // FUSEBOX_SRC_BASE_FP16_H_
