#include "examples/decode_loop/model.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace example {
namespace {

constexpr Bf16 kOne = 0x3f80;
constexpr Bf16 kMinusOne = 0xbf80;

float ToFloat(Bf16 value) {
  const uint32_t bits = uint32_t{value} << 16;
  float out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

Bf16 ToBf16(float value) {  // to nearest, ties to even; values here are finite
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<Bf16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// mt19937 gives the same numbers everywhere; the standard's distributions do not.
std::vector<Bf16> MakeMatrix(int64_t rows, int64_t columns, std::mt19937& random) {
  std::vector<Bf16> matrix(static_cast<size_t>(rows * columns), 0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int i = 0; i < 2; ++i) {
      const int64_t column = random() % columns;
      matrix[row * columns + column] = random() % 2 == 0 ? kOne : kMinusOne;
    }
  }
  return matrix;
}

float Dot(const Bf16* row, const float* x, int64_t size) {
  float sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += ToFloat(row[i]) * x[i];
  return sum;
}

}  // namespace

std::vector<Layer> MakeLayers() {
  std::mt19937 random(20);
  std::vector<Layer> layers;
  for (size_t i = 0; i < kNumLayers; ++i) {
    Layer& layer = layers.emplace_back();
    layer.gate_up = MakeMatrix(2 * kIntermediate, kHidden, random);
    layer.down = MakeMatrix(kHidden, kIntermediate, random);
  }
  return layers;
}

std::vector<Bf16> MakeActivations(int32_t tokens, uint32_t step) {
  std::mt19937 random(step);
  constexpr Bf16 kValues[] = {0, kOne, kMinusOne};
  std::vector<Bf16> x(static_cast<size_t>(tokens * kHidden));
  std::generate(x.begin(), x.end(), [&] { return kValues[random() % 3]; });
  return x;
}

void RunBlock(const Layer& layer, int32_t tokens, const Bf16* x, Bf16* y) {
  const Bf16* const up_rows = layer.gate_up.data() + kIntermediate * kHidden;
  std::vector<float> row(kHidden);
  std::vector<float> h(kIntermediate);
  for (int32_t token = 0; token < tokens; ++token) {
    std::transform(x + token * kHidden, x + (token + 1) * kHidden, row.begin(), ToFloat);
    for (int64_t i = 0; i < kIntermediate; ++i) {
      const Bf16 gate = ToBf16(Dot(layer.gate_up.data() + i * kHidden, row.data(), kHidden));
      const Bf16 up = ToBf16(Dot(up_rows + i * kHidden, row.data(), kHidden));
      h[i] = ToFloat(ToBf16(std::max(ToFloat(gate), 0.0f) * ToFloat(up)));
    }
    for (int64_t i = 0; i < kHidden; ++i) {
      y[token * kHidden + i] =
          ToBf16(Dot(layer.down.data() + i * kIntermediate, h.data(), kIntermediate));
    }
  }
}

size_t CountDifferences(const std::vector<Bf16>& a, const std::vector<Bf16>& b) {
  size_t count = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += ToFloat(a[i]) != ToFloat(b[i]);
  return count;
}

}  // namespace example
