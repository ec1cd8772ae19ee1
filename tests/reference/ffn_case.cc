#include "tests/reference/ffn_case.h"

#include <algorithm>
#include <cmath>

#include "src/base/bf16.h"

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
std::vector<uint16_t> Fill(int64_t count, Draw draw) {
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) value = FloatToBf16(draw());
  return values;
}

std::string Describe(const char* generator, const FfnProblem& problem, int64_t tokens,
                     uint64_t seed) {
  return std::string(generator) + "(" + problem.Name() + ", " + std::to_string(tokens) + ", " +
         std::to_string(seed) + ")";
}

// `up_weight`, `down_weight`, `activation` draw one value each.
template <typename UpWeight, typename DownWeight, typename Value>
FfnCase Make(const FfnProblem& problem, int64_t tokens, UpWeight up_weight, DownWeight down_weight,
             Value activation) {
  const int64_t hidden = problem.hidden.value();
  const int64_t weights = hidden * problem.intermediate.value();
  FfnCase made{.problem = problem, .tokens = tokens};
  if (problem.form == FfnForm::kGated) made.gate = Fill(weights, up_weight);
  made.up = Fill(weights, up_weight);
  made.down = Fill(weights, down_weight);
  made.x = Fill(tokens * hidden, activation);
  if (problem.residual_mode == ResidualMode::kAddAfter) {
    made.residual = Fill(tokens * hidden, activation);
  }
  return made;
}

}  // namespace

FfnCase MakeSmallIntegerCase(const FfnProblem& problem, int64_t tokens, uint64_t seed) {
  // About 16 non-zero terms in each sum of phase 1 and 64 in phase 2: |gate| and |up| stay below
  // about 100, |h| below 10^4, the sums of |h||w| below 10^6.
  const double up_density = std::min(1.0, 16.0 / static_cast<double>(problem.hidden.value()));
  const double down_density =
      std::min(1.0, 64.0 / static_cast<double>(problem.intermediate.value()));
  Random random(seed);
  FfnCase made = Make(
      problem, tokens, [&] { return random.SmallInteger(up_density); },
      [&] { return random.SmallInteger(down_density); }, [&] { return random.SmallInteger(0.75); });
  made.description = Describe("MakeSmallIntegerCase", problem, tokens, seed);
  return made;
}

FfnCase MakeRandomCase(const FfnProblem& problem, int64_t tokens, uint64_t seed) {
  // Variance of a uniform value up to a is a^2/3: these make the sums' variance about 1.6 and 1.
  const auto hidden = static_cast<float>(problem.hidden.value());
  const auto intermediate = static_cast<float>(problem.intermediate.value());
  const float up_limit = 2.2f / std::sqrt(hidden);
  const float down_limit = 3.5f / std::sqrt(intermediate);
  Random random(seed);
  FfnCase made = Make(
      problem, tokens, [&] { return random.Uniform(up_limit); },
      [&] { return random.Uniform(down_limit); }, [&] { return random.Uniform(1.7f); });
  made.description = Describe("MakeRandomCase", problem, tokens, seed);
  return made;
}

}  // namespace fusebox::reference
