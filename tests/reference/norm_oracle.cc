#include "tests/reference/norm_oracle.h"

#include <cmath>

namespace fusebox::reference {
namespace {

// A sum of terms with errors of their own.
struct Total {
  double value = 0;
  double magnitude = 0;
  double error = 0;
  void Add(const Estimate& term) {
    value += term.value;
    magnitude += std::abs(term.value);
    error += term.error;
  }
};

Estimate MeanOf(const std::vector<Estimate>& row) {
  const auto count = static_cast<double>(row.size());
  Total total;
  for (const Estimate& input : row) total.Add(input);
  const double error =
      total.error + RowSumError(static_cast<int64_t>(row.size())) * total.magnitude;
  return {total.value / count, MeanError(total.value / count, error / count)};
}

// 1 / sqrt(mean square of what is left after the mean + eps).
Estimate ScaleOf(const std::vector<Estimate>& row, const Estimate& mean, double eps) {
  const auto count = static_cast<double>(row.size());
  double squares = 0;
  double square_distances = 0;
  for (const Estimate& input : row) {
    const double centered = input.value - mean.value;
    const double distance = input.error + mean.error;
    squares += centered * centered;
    square_distances += distance * distance;
  }
  const double variance = squares / count + eps;
  return {1.0 / std::sqrt(variance), ScaleError(variance, square_distances / count,
                                                RowSumError(static_cast<int64_t>(row.size())))};
}

}  // namespace

std::vector<Estimate> Normalize(const NormWeights& weights, const std::vector<Estimate>& row) {
  const Estimate mean = weights.norm == Norm::kLayer ? MeanOf(row) : Estimate{};
  const Estimate scale = ScaleOf(row, mean, weights.eps);
  std::vector<Estimate> normalized;
  for (size_t i = 0; i < row.size(); ++i) {
    const Estimate centered = Centered(row[i], mean, scale);
    const double w = weights.weight[i];
    Estimate out;
    if (weights.norm == Norm::kRms) {
      const Estimate rounded = RoundedTo(weights.dtype, centered);
      out = {rounded.value * w, rounded.error * std::abs(w)};
    } else if (weights.norm == Norm::kRmsPlusOne) {
      out = ScaledAndShifted(centered, 1.0 + w, 0.0);
    } else {
      out = ScaledAndShifted(centered, w, weights.bias.empty() ? 0.0 : weights.bias[i]);
    }
    normalized.push_back(RoundedTo(weights.dtype, out));
  }
  return normalized;
}

}  // namespace fusebox::reference
