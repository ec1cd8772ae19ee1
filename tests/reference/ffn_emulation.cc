#include "tests/reference/ffn_emulation.h"

#include <algorithm>
#include <cmath>

#include "src/shape/element.h"

namespace fusebox::reference {
namespace {

constexpr int64_t kProductsOfAStep = 16;  // k of one wgmma

float Truncated(double value) {
  const auto narrow = static_cast<float>(value);
  return std::abs(static_cast<double>(narrow)) > std::abs(value) ? std::nextafter(narrow, 0.0f)
                                                                 : narrow;
}

// sum + weights[0, count) . x[0, count).
float Accumulate(DType dtype, float sum, const uint16_t* weights, const float* x, int64_t count) {
  for (int64_t begin = 0; begin < count; begin += kProductsOfAStep) {
    double step = static_cast<double>(sum);
    for (int64_t i = begin; i < begin + kProductsOfAStep; ++i)
      step += static_cast<double>(ElementToFloat(dtype, weights[i]) * x[i]);
    sum = Truncated(step);
  }
  return sum;
}

struct RowNorm {
  Norm norm = Norm::kRms;
  DType dtype = DType::kBf16;
  float eps = 0;
  float center = 0;                  // of the weight: 1 for rms_plus_one
  const uint16_t* weight = nullptr;  // null: all 1
};

std::vector<float> Normalized(const RowNorm& norm, const std::vector<float>& row) {
  std::vector<float> lanes(32, 0.0f);
  for (size_t i = 0; i < row.size(); ++i) lanes[i / 8 % 32] += row[i] * row[i];
  float sum = 0;
  for (float lane : lanes) sum += lane;
  const float scale = 1.0f / std::sqrt(sum / static_cast<float>(row.size()) + norm.eps);
  std::vector<float> out;
  for (size_t i = 0; i < row.size(); ++i) {
    const float w = norm.weight == nullptr ? 1.0f : ElementToFloat(norm.dtype, norm.weight[i]);
    const float scaled = row[i] * scale;
    out.push_back(RoundToElement(norm.dtype, norm.norm == Norm::kRms
                                                 ? RoundToElement(norm.dtype, scaled) * w
                                                 : scaled * (norm.center + w)));
  }
  return out;
}

std::vector<float> Widened(DType dtype, const uint16_t* values, int64_t count) {
  std::vector<float> wide;
  for (int64_t i = 0; i < count; ++i) wide.push_back(ElementToFloat(dtype, values[i]));
  return wide;
}

std::vector<float> IntermediateOf(const FfnCase& input, const std::vector<float>& x) {
  const DType dtype = input.problem.dtype;
  const auto hidden = static_cast<int64_t>(x.size());
  const auto round = [&](float value) {
    return input.problem.rounding == Rounding::kEngine ? RoundToElement(dtype, value) : value;
  };
  std::vector<float> h;
  for (int64_t n = 0; n < input.problem.intermediate.value(); ++n) {
    const float gate =
        round(Accumulate(dtype, 0.0f, input.gate.data() + n * hidden, x.data(), hidden));
    const float up = round(Accumulate(dtype, 0.0f, input.up.data() + n * hidden, x.data(), hidden));
    h.push_back(RoundToElement(dtype, round(gate / (1.0f + std::exp(-gate))) * up));
  }
  return h;
}

std::vector<float> OutputOf(const FfnCase& input, const std::vector<float>& h,
                            const Emulation& emulation) {
  const auto intermediate = static_cast<int64_t>(h.size());
  std::vector<float> f;
  for (int64_t row = 0; row < input.problem.hidden.value(); ++row) {
    const uint16_t* const weights = input.down.data() + row * intermediate;
    float sum = 0;
    for (int64_t begin = 0; begin < intermediate; begin += emulation.part) {
      const int64_t count = std::min(emulation.part, intermediate - begin);
      if (emulation.mistake == Mistake::kDroppedPart && begin + count == intermediate) break;
      sum += Accumulate(input.problem.dtype, 0.0f, weights + begin, h.data() + begin, count);
    }
    f.push_back(RoundToElement(input.problem.dtype, sum));
  }
  return f;
}

}  // namespace

std::vector<uint16_t> EmulateKernel(const FfnCase& input, const Emulation& emulation) {
  const FfnProblem& problem = input.problem;
  const int64_t hidden = problem.hidden.value();
  const auto dropped = static_cast<size_t>(emulation.dropped);
  const Mistake mistake = emulation.mistake;
  RowNorm first = {.norm = problem.norm,
                   .dtype = problem.dtype,
                   .eps = mistake == Mistake::kHalvedEps ? input.eps / 2 : input.eps,
                   .center = problem.norm == Norm::kRmsPlusOne ? 1.0f : 0.0f,
                   .weight = input.norm_weight.data()};
  RowNorm second = first;
  second.weight = mistake == Mistake::kNoSecondWeight ? nullptr : input.second_norm_weight.data();
  if (mistake == Mistake::kNoPlusOne) second.center = 0.0f;
  std::vector<uint16_t> y;
  for (int64_t token = 0; token < input.tokens; ++token) {
    const std::vector<float> x = Widened(problem.dtype, input.x.data() + token * hidden, hidden);
    std::vector<float> h = IntermediateOf(input, Normalized(first, x));
    if (mistake == Mistake::kDroppedIntermediate) h[dropped] = 0.0f;
    const std::vector<float> normalized = Normalized(second, OutputOf(input, h, emulation));
    for (size_t k = 0; k < x.size(); ++k)
      y.push_back(FloatToElement(problem.dtype, x[k] + normalized[k]));
  }
  return y;
}

}  // namespace fusebox::reference
