#include "tests/reference/error_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "src/shape/element.h"

namespace fusebox::reference {
namespace {

constexpr double kBf16Error = 0x1.0p-8;
constexpr double kFp16Error = 0x1.0p-11;
constexpr double kFp16SubnormalError = 0x1.0p-25;
constexpr double kAddError = 0x1.0p-23;
constexpr double kRoundError = 0x1.0p-24;
constexpr double kSpread = 4.0;
constexpr double kDeviations = 8.0;
constexpr double kActivationSlope = 1.13;
constexpr double kActivationRelative = 0x1.0p-17;
constexpr double kActivationCancelled = 0x1.0p-22;

// Of rounding a value of up to `magnitude` once.
double RoundingError(DType dtype, double magnitude) {
  if (dtype == DType::kBf16) return kBf16Error * magnitude;
  return std::max(kFp16Error * magnitude, kFp16SubnormalError);
}

// Times a constant, which the kernel has in fp32.
Estimate Scaled(const Estimate& a, double factor) {
  return Product(a, {factor, kRoundError * std::abs(factor)});
}

}  // namespace

double RoundDouble(DType dtype, double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    // Round to odd in fp32: toward zero, last bit set. The second rounding then sees what was lost.
    if (std::abs(static_cast<double>(narrow)) > std::abs(value))
      narrow = std::nextafter(narrow, 0.0f);
    narrow = std::bit_cast<float>(std::bit_cast<uint32_t>(narrow) | 1u);
  }
  return static_cast<double>(RoundToElement(dtype, narrow));
}

double RowSumError(int64_t terms) {
  constexpr double kLanes = 32.0;
  constexpr double kJoining = 3.0;  // sqrt(9): to join the lanes, and the term's own
  return kDeviations * kRoundError *
         (std::sqrt(static_cast<double>(terms) / (3.0 * kLanes)) + kJoining);
}

void WeightedSum::Add(double weight, const Estimate& operand) {
  const double product = weight * operand.value;
  const double carried = std::abs(weight) * operand.error;
  ++terms_;
  value_ += product;
  magnitude_ += std::abs(product);
  squares_ += product * product;
  carried_ += carried;
  carried_squares_ += carried * carried;
}

Estimate WeightedSum::Finish() const {
  const double partial = std::min(magnitude_, std::abs(value_) + kDeviations * std::sqrt(squares_));
  const double carried = std::min(carried_, kDeviations * std::sqrt(carried_squares_));
  const double added = kSpread * kAddError * std::sqrt(static_cast<double>(terms_)) * partial;
  return {value_, added + carried};
}

Estimate Sum(const Estimate& a, const Estimate& b) {
  const double value = a.value + b.value;
  const double error = a.error + b.error;
  return {value, error + kAddError * (std::abs(value) + error)};
}

Estimate Shifted(const Estimate& sum, double bias) { return Sum(sum, {.value = bias}); }

Estimate Activated(double activated, const Estimate& g) {
  return {activated, kActivationSlope * g.error + kActivationRelative * std::abs(activated) +
                         kActivationCancelled * std::abs(g.value)};
}

Estimate ActivatedSquare(const Estimate& g) {
  const Estimate positive = {std::max(g.value, 0.0), g.error};
  return Product(positive, positive);
}

Estimate ActivatedInRoundedSteps(DType dtype, const Estimate& g) {
  constexpr double kSaturated = 8.0;
  constexpr double kTanhError = 8.0 * kAddError;
  const auto rounded = [&](const Estimate& step) { return RoundedTo(dtype, step); };
  Estimate tanh = {.value = std::copysign(1.0, g.value)};
  if (!(std::abs(g.value) - g.error >= kSaturated)) {
    const Estimate cube = rounded(Product(rounded(Product(g, g)), g));
    const Estimate inner = rounded(Sum(g, rounded(Scaled(cube, 0.044715))));
    const Estimate angle = rounded(Scaled(inner, std::sqrt(2.0 / std::numbers::pi)));
    tanh = rounded({std::tanh(angle.value), angle.error + kTanhError});
  }
  return Product(rounded(Scaled(g, 0.5)), rounded(Shifted(tanh, 1.0)));
}

Estimate Product(const Estimate& a, const Estimate& u) {
  const double value = a.value * u.value;
  return {value, a.error * (std::abs(u.value) + u.error) + std::abs(a.value) * u.error +
                     kAddError * std::abs(value)};
}

Estimate RoundedTo(DType dtype, const Estimate& estimate) {
  const double rounded = RoundDouble(dtype, estimate.value);
  return {rounded,
          std::max(std::abs(RoundDouble(dtype, estimate.value - estimate.error) - rounded),
                   std::abs(RoundDouble(dtype, estimate.value + estimate.error) - rounded))};
}

double MeanError(double mean, double sum_error) { return sum_error + kAddError * std::abs(mean); }

double ScaleError(double variance, double mean_square_distance, double relative_sum_error) {
  const double root = std::sqrt(variance);
  const double nearest = root - std::sqrt(mean_square_distance);
  const double relative = relative_sum_error + 2.0 * kAddError;  // the division, and adding eps
  if (nearest <= 0.0) return std::numeric_limits<double>::quiet_NaN();
  return 1.0 / (nearest * std::sqrt(1.0 - relative)) - 1.0 / root + 2.0 * kAddError / nearest;
}

Estimate Centered(const Estimate& input, const Estimate& mean, const Estimate& scale) {
  const double value = input.value - mean.value;
  return Product({value, input.error + mean.error + kAddError * std::abs(value)}, scale);
}

Estimate ScaledAndShifted(const Estimate& centered, double factor, double bias) {
  const double product = centered.value * factor;
  const double value = product + bias;
  // 1 + w, the product and the sum.
  return {value, centered.error * std::abs(factor) +
                     kAddError * (2.0 * std::abs(product) + std::abs(value))};
}

Estimate Output(DType dtype, const Estimate& f) {
  return {f.value, f.error + RoundingError(dtype, std::abs(f.value) + f.error)};
}

Estimate OutputWithResidual(DType dtype, const Estimate& f, double residual) {
  // The oracle rounds f once as well; a flip of that rounding moves it by up to 2 u16 |f|.
  const double error = f.error + 2.0 * RoundingError(dtype, std::abs(f.value) + f.error);
  return {residual + RoundDouble(dtype, f.value),
          error + RoundingError(dtype, std::abs(residual + f.value) + error)};
}

}  // namespace fusebox::reference
