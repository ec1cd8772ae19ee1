// BoundWeights is a fusebox_ffn_weights that passed: what an op asks for and nothing else, on the
// op's GPU. ReadWeights names the weight that is wrong, what it has and what it should have. Pure
// but for questions about pointers to the driver.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_WEIGHTS_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_WEIGHTS_H_

#include "absl/status/statusor.h"
#include "fusebox/ffn.h"
#include "runtime/launch/ffn_maps.h"

namespace fusebox {

class FfnOp;

// Vectors that the op does not ask for are null; device memory, 16-byte aligned.
struct BoundWeights {
  FfnWeightViews matrices;  // plain: gate is up
  const void* gate_bias = nullptr;
  const void* up_bias = nullptr;
  const void* down_bias = nullptr;
  const void* norm_weight = nullptr;
  const void* norm_bias = nullptr;  // null too for a LayerNorm without one
  const void* second_norm_weight = nullptr;
  float eps = 0.0f;  // 0 without a norm
};

absl::StatusOr<BoundWeights> ReadWeights(const FfnOp& op, const fusebox_ffn_weights* from);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_WEIGHTS_H_
