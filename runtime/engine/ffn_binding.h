// FfnBinding ties an FfnOp to one layer's weights: their tensor maps and vectors, ready to be
// copied into a launch's parameters. Invariant: immutable after Bind; weights are borrowed and must
// stay unchanged. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_BINDING_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_BINDING_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "fusebox/ffn.h"
#include "kernels_templates/abi/kernel_params.h"
#include "runtime/engine/ffn_op.h"

namespace fusebox {

class FfnBinding {
 public:
  static absl::StatusOr<std::unique_ptr<FfnBinding>> Bind(std::shared_ptr<FfnOp> op,
                                                          const fusebox_ffn_weights* weights);

  // What comes from the weights is filled; the rest is the launch's. Zero for a tile that is not
  // served. By rung, for boxes are as large as the plan's pieces.
  const FfnParams& Params(size_t tile_index, size_t rung = 0) const {
    return params_[tile_index][rung];
  }
  const FfnOp& op() const { return *op_; }

  // Null but for a launch that FUSEBOX_SHADOW wants compared; it stays due until ShadowBegun.
  FfnShadow* DueShadow() const {
    if (shadow_ == nullptr) return nullptr;
    const int64_t launches = launches_since_shadow_.fetch_add(1, std::memory_order_relaxed) + 1;
    return launches >= op_->engine().config().shadow_period ? shadow_ : nullptr;
  }
  void ShadowBegun() const { launches_since_shadow_.store(0, std::memory_order_relaxed); }
  const FfnOperandViews& weights() const { return weights_; }

 private:
  explicit FfnBinding(std::shared_ptr<FfnOp> op) : op_(std::move(op)) {}
  absl::Status FillParams(const struct BoundWeights& weights, const FusionPlan& plan,
                          FfnParams* params) const;

  const std::shared_ptr<FfnOp> op_;
  std::array<std::array<FfnParams, kMaxRungs>, kNumTokenTiles> params_ = {};
  FfnOperandViews weights_;      // without rows
  FfnShadow* shadow_ = nullptr;  // the op's
  mutable std::atomic<int64_t> launches_since_shadow_ = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_BINDING_H_
