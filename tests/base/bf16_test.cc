#include "src/base/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fusebox {
namespace {

TEST(Bf16Test, EveryFiniteBf16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(Bf16ToFloat(half))) continue;
    EXPECT_EQ(FloatToBf16(Bf16ToFloat(half)), half) << bits;
  }
}

TEST(Bf16Test, RoundsToNearestWithTiesToEven) {
  const struct {
    float value;
    uint16_t bits;
  } kCases[] = {
      {1.0f, 0x3f80},
      {1.0f + 0x1.0p-8f, 0x3f80},               // tie between 1 and 1 + 2^-7: even is 1
      {1.0f + 0x1.8p-7f, 0x3f82},               // tie between 1 + 2^-7 and 1 + 2^-6
      {1.0f + 0x1.0p-8f + 0x1.0p-20f, 0x3f81},  // just above the tie
      {-1.0f - 0x1.8p-7f, 0xbf82},
      {256.0f + 1.0f, 0x4380},  // 257 needs 9 bits
      {std::numeric_limits<float>::max(), 0x7f80},
      {std::numeric_limits<float>::infinity(), 0x7f80},
      {0x1.0p-133f, 0x0001},  // the smallest subnormal
      {-0.0f, 0x8000},
  };
  for (const auto& c : kCases) EXPECT_EQ(FloatToBf16(c.value), c.bits) << c.value;
}

TEST(Bf16Test, AnyNanBecomesTheQuietOne) {
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::quiet_NaN()), kBf16QuietNan);
  EXPECT_EQ(FloatToBf16(-std::numeric_limits<float>::signaling_NaN()), kBf16QuietNan);
  EXPECT_TRUE(std::isnan(Bf16ToFloat(kBf16QuietNan)));
}

}  // namespace
}  // namespace fusebox
