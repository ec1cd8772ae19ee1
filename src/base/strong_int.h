// StrongInt keeps one kind of dimension from being passed where another is meant.
// Construction is explicit, kinds do not mix, and .value() leaves the type at the edges (rendering,
// driver calls). Plain values: freely copied, no thread concerns.
#ifndef FUSEBOX_SRC_BASE_STRONG_INT_H_
#define FUSEBOX_SRC_BASE_STRONG_INT_H_

#include <compare>
#include <cstdint>

namespace fusebox {

template <typename Tag>
class StrongInt {
 public:
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(int64_t value) : value_(value) {}
  constexpr int64_t value() const { return value_; }
  friend constexpr auto operator<=>(StrongInt, StrongInt) = default;

 private:
  int64_t value_ = 0;
};

// The three dimensions of an FFN, and tokens. Letters: M tokens, N intermediate, K hidden,
// L output.
using DimM = StrongInt<struct DimMTag>;  // tokens: rows of the activation
using DimN = StrongInt<struct DimNTag>;  // intermediate size (rows of gate and of up)
using DimK = StrongInt<struct DimKTag>;  // hidden size (columns of gate and up; also the output
                                         // rows L of down)

constexpr int64_t CeilDiv(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}
constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return CeilDiv(value, multiple) * multiple;
}

}  // namespace fusebox

#endif  // FUSEBOX_SRC_BASE_STRONG_INT_H_
