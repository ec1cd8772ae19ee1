// OverlapOf tells whether two matrices of tokens share memory: exactly, so that rows which lie
// interleaved in one buffer (two columns of a wider matrix) count as apart. Pure; allocates
// nothing; two comparisons where the matrices lie apart, as nearly always.
#ifndef FUSEBOX_RUNTIME_ENGINE_ROW_OVERLAP_H_
#define FUSEBOX_RUNTIME_ENGINE_ROW_OVERLAP_H_

#include <cstdint>

namespace fusebox {

enum class Overlap { kNone, kPartial, kSame };  // kSame: row for row at the same address

struct RowRange {
  const void* data = nullptr;
  int64_t stride_bytes = 0;  // at least the width
};

// REQUIRES: num_rows >= 1, width_bytes >= 1, (num_rows - 1) strides do not overflow.
inline Overlap OverlapOf(const RowRange& a, const RowRange& b, int64_t num_rows,
                         int64_t width_bytes) {
  const auto a_begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(a.data));
  const auto b_begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(b.data));
  const int64_t a_end = a_begin + (num_rows - 1) * a.stride_bytes + width_bytes;
  const int64_t b_end = b_begin + (num_rows - 1) * b.stride_bytes + width_bytes;
  if (a_end <= b_begin || b_end <= a_begin) return Overlap::kNone;
  if (a_begin == b_begin && (a.stride_bytes == b.stride_bytes || num_rows == 1)) {
    return Overlap::kSame;
  }
  for (int64_t row = 0; row < num_rows; ++row) {
    // The first row of b that ends behind the begin of this row of a.
    const int64_t begin = a_begin + row * a.stride_bytes;
    const int64_t ahead = begin - b_begin - width_bytes;
    const int64_t other = ahead < 0 ? 0 : ahead / b.stride_bytes + 1;
    if (other < num_rows && b_begin + other * b.stride_bytes < begin + width_bytes) {
      return Overlap::kPartial;
    }
  }
  return Overlap::kNone;
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_ROW_OVERLAP_H_
