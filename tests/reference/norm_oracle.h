// Norms of a row in fp64 with the distance that a kernel may have on each element, rounded where
// the engines round: RMS rounds x * scale and its product with w; 1 + w and LayerNorm round once.
// Pure function.
#ifndef FUSEBOX_TESTS_REFERENCE_NORM_ORACLE_H_
#define FUSEBOX_TESTS_REFERENCE_NORM_ORACLE_H_

#include <vector>

#include "tests/reference/error_bound.h"

namespace fusebox::reference {

// One of the norms but kNone; `bias` may be empty.
struct NormWeights {
  Norm norm = Norm::kRms;
  DType dtype = DType::kBf16;
  double eps = 0;
  std::vector<double> weight;
  std::vector<double> bias;
};

std::vector<Estimate> Normalize(const NormWeights& weights, const std::vector<Estimate>& row);

}  // namespace fusebox::reference

#endif  // FUSEBOX_TESTS_REFERENCE_NORM_ORACLE_H_
