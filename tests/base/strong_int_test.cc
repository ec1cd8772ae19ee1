#include "src/base/strong_int.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace fusebox {
namespace {

static_assert(!std::is_convertible_v<int64_t, DimK>, "construction is explicit");
static_assert(!std::is_constructible_v<DimK, DimN>, "kinds do not mix");

TEST(StrongIntTest, ComparesByValue) {
  EXPECT_EQ(DimK(7).value(), 7);
  EXPECT_LT(DimK(7), DimK(8));
}

TEST(StrongIntTest, CeilDivAndRoundUpMeetTheNextMultiple) {
  EXPECT_EQ(CeilDiv(1, 8), 1);
  EXPECT_EQ(CeilDiv(16, 8), 2);
  EXPECT_EQ(RoundUp(17, 8), 24);
  EXPECT_EQ(RoundUp(24, 8), 24);
}

}  // namespace
}  // namespace fusebox
