#include "tests/reference/ffn_case.h"

#include <algorithm>
#include <cmath>

#include "src/shape/element.h"

namespace fusebox::reference {
namespace {

// splitmix64 (Steele, Lea, Flood 2014): std's distributions differ between libraries, this does
// not.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }  // [0, 1)
  float Uniform(float limit) { return static_cast<float>((2.0 * Unit() - 1.0) * limit); }
  // -2, -1, 1 or 2 with the given probability, else 0.
  float SmallInteger(double probability) {
    if (Unit() >= probability) return 0.0f;
    constexpr float kValues[] = {-2.0f, -1.0f, 1.0f, 2.0f};
    return kValues[Next() >> 62];
  }

 private:
  uint64_t state_;
};

template <typename Draw>
std::vector<uint16_t> Fill(DType dtype, int64_t count, Draw draw) {
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) value = FloatToElement(dtype, draw());
  return values;
}

std::string Describe(const char* generator, const FfnProblem& problem, int64_t tokens,
                     uint64_t seed) {
  return std::string(generator) + "(" + problem.Name() + ", " + std::to_string(tokens) + ", " +
         std::to_string(seed) + ")";
}

// Each draws one value.
template <typename UpWeight, typename DownWeight, typename Value, typename Vector>
struct Draws {
  UpWeight up_weight;
  DownWeight down_weight;
  Value activation;    // of x and residual
  Vector bias;         // of a projection or a LayerNorm
  Vector norm_weight;  // without the 1 of rms_plus_one
};

template <typename AnyDraws>
FfnCase Make(const FfnProblem& problem, int64_t tokens, const AnyDraws& draws) {
  const DType dtype = problem.dtype;
  const int64_t hidden = problem.hidden.value();
  const int64_t intermediate = problem.intermediate.value();
  const int64_t weights = hidden * intermediate;
  const bool is_gated = problem.form == FfnForm::kGated;
  const ResidualMode mode = problem.residual_mode;
  FfnCase made{.problem = problem, .tokens = tokens};
  if (is_gated) made.gate = Fill(dtype, weights, draws.up_weight);
  made.up = Fill(dtype, weights, draws.up_weight);
  made.down = Fill(dtype, weights, draws.down_weight);
  made.x = Fill(dtype, tokens * hidden, draws.activation);
  if (TakesResidual(mode)) made.residual = Fill(dtype, tokens * hidden, draws.activation);
  if (problem.up_bias) {
    if (is_gated) made.gate_bias = Fill(dtype, intermediate, draws.bias);
    made.up_bias = Fill(dtype, intermediate, draws.bias);
  }
  if (problem.down_bias) made.down_bias = Fill(dtype, hidden, draws.bias);
  if (problem.norm != Norm::kNone) made.norm_weight = Fill(dtype, hidden, draws.norm_weight);
  if (problem.norm == Norm::kLayer) made.norm_bias = Fill(dtype, hidden, draws.bias);
  if (mode == ResidualMode::kSandwich)
    made.second_norm_weight = Fill(dtype, hidden, draws.norm_weight);
  return made;
}

}  // namespace

FfnCase MakeSmallIntegerCase(const FfnProblem& problem, int64_t tokens, uint64_t seed) {
  // About 16 non-zero terms in each sum of phase 1 and 64 in phase 2: |gate| and |up| stay below
  // about 100, |h| below 10^4, the sums of |h||w| below 10^6. A fourth of both where a square needs
  // the room, or fp16, whose integers end at 65504.
  const bool is_tight =
      problem.dtype == DType::kFp16 || problem.activation == Activation::kReluSquared;
  const double share = is_tight ? 0.25 : 1.0;
  const double up_density =
      std::min(1.0, 16.0 * share / static_cast<double>(problem.hidden.value()));
  const double down_density =
      std::min(1.0, 64.0 * share / static_cast<double>(problem.intermediate.value()));
  Random random(seed);
  const auto draw = [&random](double density) {
    return [&random, density] { return random.SmallInteger(density); };
  };
  FfnCase made =
      Make(problem, tokens,
           Draws{draw(up_density), draw(down_density), draw(0.75), draw(0.5), draw(0.5)});
  made.description = Describe("MakeSmallIntegerCase", problem, tokens, seed);
  return made;
}

FfnCase MakeRandomCase(const FfnProblem& problem, int64_t tokens, uint64_t seed) {
  // Variance of a uniform value up to a is a^2/3: these make the sums' variance about 1.6 and 1.
  const auto hidden = static_cast<float>(problem.hidden.value());
  const auto intermediate = static_cast<float>(problem.intermediate.value());
  const float one = problem.norm == Norm::kRmsPlusOne ? 0.0f : 1.0f;
  Random random(seed);
  const auto draw = [&random](float center, float limit) {
    return [&random, center, limit] { return center + random.Uniform(limit); };
  };
  FfnCase made =
      Make(problem, tokens,
           Draws{draw(0.0f, 2.2f / std::sqrt(hidden)), draw(0.0f, 3.5f / std::sqrt(intermediate)),
                 draw(0.0f, 1.7f), draw(0.0f, 1.0f), draw(one, 0.5f)});
  made.description = Describe("MakeRandomCase", problem, tokens, seed);
  return made;
}

}  // namespace fusebox::reference
