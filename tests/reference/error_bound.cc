#include "tests/reference/error_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/base/bf16.h"

namespace fusebox::reference {
namespace {

constexpr double kBf16Error = 0x1.0p-8;
constexpr double kAddError = 0x1.0p-23;
constexpr double kSpread = 4.0;
constexpr double kActivationSlope = 1.13;
constexpr double kActivationRelative = 0x1.0p-17;
constexpr double kActivationCancelled = 0x1.0p-22;

}  // namespace

double RoundDoubleToBf16(double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    // Round to odd in fp32: toward zero, last bit set. The second rounding then sees what was lost.
    if (std::abs(static_cast<double>(narrow)) > std::abs(value))
      narrow = std::nextafter(narrow, 0.0f);
    narrow = std::bit_cast<float>(std::bit_cast<uint32_t>(narrow) | 1u);
  }
  return static_cast<double>(RoundToBf16(narrow));
}

double SumError(int64_t terms, double sum_of_magnitudes) {
  return kSpread * kAddError * std::sqrt(static_cast<double>(terms)) * sum_of_magnitudes;
}

double ActivationError(double g, double g_error, double activated) {
  return kActivationSlope * g_error + kActivationRelative * std::abs(activated) +
         kActivationCancelled * std::abs(g);
}

double ProductError(double a, double a_error, double u, double u_error) {
  return a_error * (std::abs(u) + u_error) + std::abs(a) * u_error + kAddError * std::abs(a * u);
}

double RoundedError(double h, double h_error) {
  const double rounded = RoundDoubleToBf16(h);
  return std::max(std::abs(RoundDoubleToBf16(h - h_error) - rounded),
                  std::abs(RoundDoubleToBf16(h + h_error) - rounded));
}

double OutputError(double f, double f_error) {
  return f_error + kBf16Error * (std::abs(f) + f_error);
}

double OutputErrorWithResidual(double f, double f_error, double residual) {
  // The oracle rounds f once as well; a flip of that rounding moves it by up to 2 u16 |f|.
  const double block_error = f_error + 2.0 * kBf16Error * (std::abs(f) + f_error);
  return block_error + kBf16Error * (std::abs(residual + f) + block_error);
}

}  // namespace fusebox::reference
