#include "runtime/engine/row_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fusebox {
namespace {

constexpr int64_t kWidth = 16;

RowRange At(int64_t address, int64_t stride) {
  return {.data = reinterpret_cast<const void*>(address), .stride_bytes = stride};
}

// By looking at every byte.
bool ShareAByte(const RowRange& a, const RowRange& b, int64_t num_rows) {
  std::vector<int64_t> bytes;
  for (const RowRange* range : {&a, &b}) {
    const auto begin = reinterpret_cast<int64_t>(range->data);
    for (int64_t row = 0; row < num_rows; ++row) {
      for (int64_t i = 0; i < kWidth; ++i) bytes.push_back(begin + row * range->stride_bytes + i);
    }
  }
  std::sort(bytes.begin(), bytes.end());
  return std::adjacent_find(bytes.begin(), bytes.end()) != bytes.end();
}

TEST(RowOverlapTest, AgreesWithEveryByteOfSmallMatrices) {
  int num_overlaps = 0;
  for (const int64_t a_stride : {16, 24, 32, 48}) {
    for (const int64_t b_stride : {16, 24, 40, 48}) {
      for (int64_t num_rows = 1; num_rows <= 4; ++num_rows) {
        for (int64_t distance = -200; distance <= 200; distance += 4) {
          const RowRange a = At(0x1000, a_stride);
          const RowRange b = At(0x1000 + distance, b_stride);
          const bool overlaps = OverlapOf(a, b, num_rows, kWidth) != Overlap::kNone;
          num_overlaps += overlaps ? 1 : 0;
          EXPECT_EQ(overlaps, ShareAByte(a, b, num_rows))
              << "{At(0x1000, " << a_stride << "), At(0x1000 + " << distance << ", " << b_stride
              << "), " << num_rows << "}";
        }
      }
    }
  }
  EXPECT_GT(num_overlaps, 0);
}

TEST(RowOverlapTest, TellsTheSameRowsFromOthers) {
  EXPECT_EQ(OverlapOf(At(64, 32), At(64, 32), 3, kWidth), Overlap::kSame);
  EXPECT_EQ(OverlapOf(At(64, 32), At(64, 48), 1, kWidth), Overlap::kSame);
  EXPECT_EQ(OverlapOf(At(64, 32), At(64, 48), 2, kWidth), Overlap::kPartial);
  EXPECT_EQ(OverlapOf(At(64, 32), At(96, 32), 3, kWidth), Overlap::kPartial);
}

TEST(RowOverlapTest, ColumnsOfOneBufferLieApart) {
  EXPECT_EQ(OverlapOf(At(64, 32), At(64 + kWidth, 32), 32, kWidth), Overlap::kNone);
  EXPECT_EQ(OverlapOf(At(64 + kWidth, 32), At(64, 32), 32, kWidth), Overlap::kNone);
  EXPECT_EQ(OverlapOf(At(64, 32), At(64 + kWidth - 1, 32), 32, kWidth), Overlap::kPartial);
}

}  // namespace
}  // namespace fusebox
