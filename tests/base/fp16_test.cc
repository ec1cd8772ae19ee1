#include "src/base/fp16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fusebox {
namespace {

TEST(Fp16Test, EveryFp16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(Fp16ToFloat(half))) continue;
    EXPECT_EQ(FloatToFp16(Fp16ToFloat(half)), half) << bits;
  }
}

TEST(Fp16Test, RoundsToNearestWithTiesToEven) {
  const struct {
    float value;
    uint16_t bits;
  } kCases[] = {
      {1.0f, 0x3c00},
      {1.0f + 0x1.0p-11f, 0x3c00},               // tie between 1 and 1 + 2^-10: even is 1
      {1.0f + 0x1.8p-10f, 0x3c02},               // tie between 1 + 2^-10 and 1 + 2^-9
      {1.0f + 0x1.0p-11f + 0x1.0p-23f, 0x3c01},  // just above the tie
      {-1.0f - 0x1.8p-10f, 0xbc02},
      {2048.0f + 1.0f, 0x6800},  // 2049 needs 12 bits
      {65504.0f, 0x7bff},
      {65519.0f, 0x7bff},
      {65520.0f, 0x7c00},
      {std::numeric_limits<float>::max(), 0x7c00},
      {-std::numeric_limits<float>::infinity(), 0xfc00},
      {0x1.0p-14f, 0x0400},
      {0x1.0p-24f, 0x0001},  // the smallest subnormal
      {0x1.0p-25f, 0x0000},  // tie: even is 0
      {0x1.8p-24f, 0x0002},
      {0x1.ffep-15f, 0x0400},  // rounds up into the normal numbers
      {-0.0f, 0x8000},
  };
  for (const auto& c : kCases) EXPECT_EQ(FloatToFp16(c.value), c.bits) << c.value;
}

TEST(Fp16Test, AnyNanBecomesTheQuietOne) {
  EXPECT_EQ(FloatToFp16(std::numeric_limits<float>::quiet_NaN()), kFp16QuietNan);
  EXPECT_EQ(FloatToFp16(-std::numeric_limits<float>::signaling_NaN()), kFp16QuietNan);
  EXPECT_TRUE(std::isnan(Fp16ToFloat(kFp16QuietNan)));
}

}  // namespace
}  // namespace fusebox
