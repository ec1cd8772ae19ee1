#include "tests/reference/ffn_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <sstream>
#include <string_view>

#include "src/shape/element.h"
#include "tests/reference/error_bound.h"
#include "tests/reference/norm_oracle.h"

namespace fusebox::reference {
namespace {

constexpr double kExactLimit = 0x1.0p24;  // integers below are exact in fp32

// Values of one token or one vector.
std::vector<double> Doubles(DType dtype, const std::vector<uint16_t>& values, int64_t begin,
                            int64_t count) {
  std::vector<double> made;
  for (int64_t i = begin; i < begin + count; ++i)
    made.push_back(static_cast<double>(ElementToFloat(dtype, values[static_cast<size_t>(i)])));
  return made;
}

std::vector<double> Doubles(DType dtype, const std::vector<uint16_t>& values) {
  return Doubles(dtype, values, 0, static_cast<int64_t>(values.size()));
}

// One row of a projection times the token, and its bias if there is one.
struct Projected {
  Estimate sum;
  double magnitude = 0;  // sum of |a||b|
};

Projected Project(const FfnCase& input, const std::vector<uint16_t>& weights,
                  const std::vector<uint16_t>& bias, int64_t row, const std::vector<Estimate>& x) {
  const DType dtype = input.problem.dtype;
  const auto count = static_cast<int64_t>(x.size());
  const uint16_t* weight = weights.data() + row * count;
  WeightedSum products;
  for (const Estimate& operand : x)
    products.Add(static_cast<double>(ElementToFloat(dtype, *weight++)), operand);
  Projected projected = {.sum = products.Finish(), .magnitude = products.magnitude()};
  if (!bias.empty()) {
    const auto added = static_cast<double>(ElementToFloat(dtype, bias[static_cast<size_t>(row)]));
    projected.sum = Shifted(projected.sum, added);
    projected.magnitude += std::abs(added);
  }
  return projected;
}

Estimate Activate(Activation activation, DType dtype, const Estimate& g) {
  const double v = g.value;
  switch (activation) {
    case Activation::kSilu:
      return Activated(v / (1.0 + std::exp(-v)), g);
    case Activation::kGeluErf:
      return Activated(0.5 * v * std::erfc(-v / std::numbers::sqrt2), g);
    case Activation::kRelu:
      return Activated(std::max(v, 0.0), g);
    case Activation::kGeluTanh: {
      const double u = std::sqrt(2.0 / std::numbers::pi) * (v + 0.044715 * v * v * v);
      return Activated(0.5 * v * (1.0 + std::tanh(u)), g);
    }
    case Activation::kReluSquared:
      return ActivatedSquare(g);
    case Activation::kGeluNew:
      return ActivatedInRoundedSteps(dtype, g);
  }
  return {.value = std::numeric_limits<double>::quiet_NaN()};
}

// x as phase 1 sees it, and x + residual as it is stored.
struct PreparedRow {
  std::vector<double> sums;
  std::vector<Estimate> normalized;
};

PreparedRow PrepareRow(const FfnCase& input, int64_t token) {
  const FfnProblem& problem = input.problem;
  const int64_t hidden = problem.hidden.value();
  PreparedRow row;
  row.sums = Doubles(problem.dtype, input.x, token * hidden, hidden);
  if (problem.residual_mode == ResidualMode::kAddBeforeNorm) {
    const auto residual = Doubles(problem.dtype, input.residual, token * hidden, hidden);
    for (size_t k = 0; k < row.sums.size(); ++k)
      row.sums[k] = RoundDouble(problem.dtype, row.sums[k] + residual[k]);
  }
  for (double value : row.sums) row.normalized.push_back({.value = value});
  if (problem.norm != Norm::kNone) {
    row.normalized = Normalize({.norm = problem.norm,
                                .dtype = problem.dtype,
                                .eps = static_cast<double>(input.eps),
                                .weight = Doubles(problem.dtype, input.norm_weight),
                                .bias = Doubles(problem.dtype, input.norm_bias)},
                               row.normalized);
  }
  return row;
}

// h of one token, as phase 2 sees it, with each element's possible distance from the kernel's.
struct Intermediate {
  std::vector<Estimate> h;
  bool is_exact = true;
};

Intermediate ComputeIntermediate(const FfnCase& input, const std::vector<Estimate>& x,
                                 IntermediateRounding rounding) {
  const FfnProblem& problem = input.problem;
  const bool is_gated = problem.form == FfnForm::kGated;
  const auto round_as_engine = [&](const Estimate& value) {
    return problem.rounding == Rounding::kEngine ? RoundedTo(problem.dtype, value) : value;
  };
  Intermediate made;
  for (int64_t n = 0; n < problem.intermediate.value(); ++n) {
    const Projected up = Project(input, input.up, input.up_bias, n, x);
    const Projected gate = is_gated ? Project(input, input.gate, input.gate_bias, n, x) : up;
    const Estimate activated =
        round_as_engine(Activate(problem.activation, problem.dtype, round_as_engine(gate.sum)));
    Estimate h = activated;
    if (is_gated) h = Product(activated, round_as_engine(up.sum));
    const double largest =
        std::max({gate.magnitude, up.magnitude, std::abs(activated.value), std::abs(h.value)});
    made.is_exact &= largest < kExactLimit && h.value == std::floor(h.value);
    if (rounding == IntermediateRounding::kDType) h = RoundedTo(problem.dtype, h);
    made.is_exact &= std::isfinite(h.value);
    made.h.push_back(h);
  }
  return made;
}

void AppendOutput(const FfnCase& input, const Estimate& y, FfnReference& out) {
  out.y.push_back(y.value);
  out.tolerance.push_back(y.error);
  const double rounded = RoundDouble(input.problem.dtype, y.value);
  out.bits.push_back(FloatToElement(input.problem.dtype, static_cast<float>(rounded)));
  out.is_exact &= std::isfinite(rounded);
}

// y of one token from the block's output f, before its rounding.
void AppendRow(const FfnCase& input, int64_t token, const std::vector<Estimate>& f,
               const std::vector<double>& sums, FfnReference& out) {
  const FfnProblem& problem = input.problem;
  const auto begin = static_cast<size_t>(token * problem.hidden.value());
  if (problem.residual_mode == ResidualMode::kSandwich) {
    std::vector<Estimate> rounded;
    for (const Estimate& value : f) rounded.push_back(RoundedTo(problem.dtype, value));
    const auto normalized = Normalize({.norm = problem.norm,
                                       .dtype = problem.dtype,
                                       .eps = static_cast<double>(input.eps),
                                       .weight = Doubles(problem.dtype, input.second_norm_weight)},
                                      rounded);
    for (size_t k = 0; k < f.size(); ++k) {
      const Estimate y = {sums[k] + normalized[k].value, normalized[k].error};
      AppendOutput(input, Output(problem.dtype, y), out);
    }
    return;
  }
  for (size_t k = 0; k < f.size(); ++k) {
    if (problem.residual_mode == ResidualMode::kAddAfter) {
      const float residual = ElementToFloat(problem.dtype, input.residual[begin + k]);
      AppendOutput(input, OutputWithResidual(problem.dtype, f[k], static_cast<double>(residual)),
                   out);
    } else {
      AppendOutput(input, Output(problem.dtype, f[k]), out);
    }
    if (problem.residual_mode == ResidualMode::kAddBeforeNorm)
      out.residual_out.push_back(FloatToElement(problem.dtype, static_cast<float>(sums[k])));
  }
}

bool HasIntegerActivation(const FfnProblem& problem) {
  return problem.activation == Activation::kRelu || problem.activation == Activation::kReluSquared;
}

std::string Report(const FfnCase& input, std::string_view name, size_t index, double got,
                   double expected, double tolerance) {
  const auto hidden = static_cast<size_t>(input.problem.hidden.value());
  std::ostringstream text;
  text.precision(9);
  text << name << "[token " << index / hidden << ", " << index % hidden << "] is " << got
       << ", expected " << expected << " within " << tolerance << "; case " << input.description;
  return text.str();
}

std::string WrongSize(const FfnCase& input, std::string_view name, size_t size) {
  return std::string(name) + " has " + std::to_string(size) + " elements; case " +
         input.description;
}

// Zeros of either sign are equal.
Comparison CompareBits(const FfnCase& input, std::string_view name,
                       std::span<const uint16_t> expected, std::span<const uint16_t> got) {
  if (got.size() != expected.size()) return {.failure = WrongSize(input, name, got.size())};
  for (size_t i = 0; i < got.size(); ++i) {
    const float a = ElementToFloat(input.problem.dtype, got[i]);
    const float b = ElementToFloat(input.problem.dtype, expected[i]);
    if (got[i] == expected[i] || a == b) continue;
    return {.worst_ratio = std::numeric_limits<double>::infinity(),
            .failure = Report(input, name, i, static_cast<double>(a), static_cast<double>(b), 0.0)};
  }
  return {};
}

}  // namespace

FfnReference ComputeReference(const FfnCase& input, IntermediateRounding rounding) {
  const FfnProblem& problem = input.problem;
  FfnReference out;
  out.is_exact = HasIntegerActivation(problem) && problem.norm == Norm::kNone;
  for (int64_t token = 0; token < input.tokens; ++token) {
    const PreparedRow row = PrepareRow(input, token);
    const Intermediate made = ComputeIntermediate(input, row.normalized, rounding);
    out.is_exact &= made.is_exact;
    std::vector<Estimate> f;
    for (int64_t k = 0; k < problem.hidden.value(); ++k) {
      const Projected projected = Project(input, input.down, input.down_bias, k, made.h);
      out.is_exact &= projected.magnitude < kExactLimit;
      f.push_back(projected.sum);
    }
    AppendRow(input, token, f, row.sums, out);
  }
  return out;
}

Comparison CompareWithinBound(const FfnCase& input, const FfnReference& reference,
                              std::span<const uint16_t> y) {
  Comparison comparison;
  if (y.size() != reference.y.size()) return {.failure = WrongSize(input, "y", y.size())};
  for (size_t i = 0; i < y.size(); ++i) {
    const auto got = static_cast<double>(ElementToFloat(input.problem.dtype, y[i]));
    const double distance = std::abs(got - reference.y[i]);
    const bool is_wrong = !(distance <= reference.tolerance[i]);  // NaN is wrong
    if (distance > 0)
      comparison.worst_ratio = std::max(comparison.worst_ratio, distance / reference.tolerance[i]);
    if (is_wrong && comparison.ok()) {
      comparison.failure = Report(input, "y", i, got, reference.y[i], reference.tolerance[i]);
    }
  }
  return comparison;
}

Comparison CompareExactly(const FfnCase& input, const FfnReference& reference,
                          std::span<const uint16_t> y) {
  if (reference.is_exact) return CompareBits(input, "y", reference.bits, y);
  return {.failure = "the case is not exact; case " + input.description};
}

Comparison CompareResidualOut(const FfnCase& input, const FfnReference& reference,
                              std::span<const uint16_t> residual_out) {
  return CompareBits(input, "residual_out", reference.residual_out, residual_out);
}

}  // namespace fusebox::reference
