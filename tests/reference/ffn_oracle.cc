#include "tests/reference/ffn_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <sstream>

#include "src/base/bf16.h"
#include "tests/reference/error_bound.h"

namespace fusebox::reference {
namespace {

constexpr double kExactLimit = 0x1.0p24;  // integers below are exact in fp32

struct Sum {
  double value = 0;
  double magnitude = 0;  // sum of |a||b|
  double error(int64_t terms) const { return SumError(terms, magnitude); }
};

double At(const std::vector<uint16_t>& values, int64_t index) {
  return static_cast<double>(Bf16ToFloat(values[static_cast<size_t>(index)]));
}

Sum Dot(const std::vector<uint16_t>& weights, int64_t row, const std::vector<double>& x,
        int64_t count) {
  Sum sum;
  for (int64_t k = 0; k < count; ++k) {
    const double product = At(weights, row * count + k) * x[static_cast<size_t>(k)];
    sum.value += product;
    sum.magnitude += std::abs(product);
  }
  return sum;
}

double Activate(Activation activation, double v) {
  switch (activation) {
    case Activation::kSilu:
      return v / (1.0 + std::exp(-v));
    case Activation::kGeluErf:
      return 0.5 * v * std::erfc(-v / std::numbers::sqrt2);
    case Activation::kRelu:
      return std::max(v, 0.0);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// h of one token, as phase 2 sees it, with each element's possible distance from the kernel's.
struct Intermediate {
  std::vector<double> h;
  std::vector<double> error;
  bool is_exact = true;
};

Intermediate ComputeIntermediate(const FfnCase& input, const std::vector<double>& x,
                                 IntermediateRounding rounding) {
  const int64_t hidden = input.problem.hidden.value();
  const int64_t intermediate = input.problem.intermediate.value();
  const bool is_gated = input.problem.form == FfnForm::kGated;
  Intermediate made;
  for (int64_t n = 0; n < intermediate; ++n) {
    const Sum up = Dot(input.up, n, x, hidden);
    const Sum g = is_gated ? Dot(input.gate, n, x, hidden) : up;
    const double activated = Activate(input.problem.activation, g.value);
    double h = activated;
    double error = ActivationError(g.value, g.error(hidden), activated);
    if (is_gated) {
      error = ProductError(activated, error, up.value, up.error(hidden));
      h *= up.value;
    }
    made.is_exact &= std::max(g.magnitude, up.magnitude) < kExactLimit &&
                     std::abs(h) < kExactLimit && h == std::floor(h);
    if (rounding == IntermediateRounding::kBf16) {
      error = RoundedError(h, error);
      h = RoundDoubleToBf16(h);
    }
    made.h.push_back(h);
    made.error.push_back(error);
  }
  return made;
}

void AppendOutput(const FfnCase& input, int64_t index, double f, double f_error,
                  FfnReference& out) {
  if (input.problem.residual_mode == ResidualMode::kAddAfter) {
    const double residual = At(input.residual, index);
    out.y.push_back(residual + RoundDoubleToBf16(f));
    out.tolerance.push_back(OutputErrorWithResidual(f, f_error, residual));
  } else {
    out.y.push_back(f);
    out.tolerance.push_back(OutputError(f, f_error));
  }
  out.bits.push_back(FloatToBf16(static_cast<float>(RoundDoubleToBf16(out.y.back()))));
}

std::string Report(const FfnCase& input, int64_t index, double got, double expected,
                   double tolerance) {
  const int64_t hidden = input.problem.hidden.value();
  std::ostringstream text;
  text.precision(9);
  text << "y[token " << index / hidden << ", " << index % hidden << "] is " << got << ", expected "
       << expected << " within " << tolerance << "; case " << input.description;
  return text.str();
}

}  // namespace

FfnReference ComputeReference(const FfnCase& input, IntermediateRounding rounding) {
  const int64_t hidden = input.problem.hidden.value();
  const int64_t intermediate = input.problem.intermediate.value();
  FfnReference out;
  out.is_exact = input.problem.activation == Activation::kRelu;
  for (int64_t token = 0; token < input.tokens; ++token) {
    std::vector<double> x;
    for (int64_t k = 0; k < hidden; ++k) x.push_back(At(input.x, token * hidden + k));
    const Intermediate made = ComputeIntermediate(input, x, rounding);
    out.is_exact &= made.is_exact;
    for (int64_t row = 0; row < hidden; ++row) {
      const Sum f = Dot(input.down, row, made.h, intermediate);
      out.is_exact &= f.magnitude < kExactLimit;
      double error = f.error(intermediate);
      for (int64_t n = 0; n < intermediate; ++n) {
        const double h_error = made.error[static_cast<size_t>(n)];
        if (h_error > 0) error += h_error * std::abs(At(input.down, row * intermediate + n));
      }
      AppendOutput(input, token * hidden + row, f.value, error, out);
    }
  }
  return out;
}

Comparison CompareWithinBound(const FfnCase& input, const FfnReference& reference,
                              std::span<const uint16_t> y) {
  Comparison comparison;
  if (y.size() != reference.y.size()) {
    comparison.failure =
        "y has " + std::to_string(y.size()) + " elements; case " + input.description;
    return comparison;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const auto got = static_cast<double>(Bf16ToFloat(y[i]));
    const double distance = std::abs(got - reference.y[i]);
    const bool is_wrong = !(distance <= reference.tolerance[i]);  // NaN is wrong
    if (distance > 0)
      comparison.worst_ratio = std::max(comparison.worst_ratio, distance / reference.tolerance[i]);
    if (is_wrong && comparison.ok()) {
      comparison.failure =
          Report(input, static_cast<int64_t>(i), got, reference.y[i], reference.tolerance[i]);
    }
  }
  return comparison;
}

Comparison CompareExactly(const FfnCase& input, const FfnReference& reference,
                          std::span<const uint16_t> y) {
  Comparison comparison;
  if (!reference.is_exact || y.size() != reference.bits.size()) {
    comparison.failure = "the case is not exact or y has the wrong size; case " + input.description;
    return comparison;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == reference.bits[i] || Bf16ToFloat(y[i]) == Bf16ToFloat(reference.bits[i])) continue;
    comparison.worst_ratio = std::numeric_limits<double>::infinity();
    comparison.failure =
        Report(input, static_cast<int64_t>(i), static_cast<double>(Bf16ToFloat(y[i])),
               static_cast<double>(Bf16ToFloat(reference.bits[i])), 0.0);
    break;
  }
  return comparison;
}

}  // namespace fusebox::reference
