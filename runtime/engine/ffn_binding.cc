#include "runtime/engine/ffn_binding.h"

#include "runtime/driver/cuda_status.h"
#include "runtime/engine/ffn_weights.h"
#include "runtime/launch/ffn_maps.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

const unsigned short* Elements(const void* vector) {
  return static_cast<const unsigned short*>(vector);
}

void FillVectors(const BoundWeights& weights, FfnParams* params) {
  params->gate_bias = Elements(weights.gate_bias);
  params->up_bias = Elements(weights.up_bias);
  params->down_bias = Elements(weights.down_bias);
  params->norm_weight = Elements(weights.norm_weight);
  params->norm_bias = Elements(weights.norm_bias);
  params->second_norm_weight = Elements(weights.second_norm_weight);
  params->eps = weights.eps;
}

FfnOperandViews OperandsOf(const BoundWeights& weights) {
  return {.gate = weights.matrices.gate,
          .up = weights.matrices.up,
          .down = weights.matrices.down,
          .vectors = {.gate_bias = Elements(weights.gate_bias),
                      .up_bias = Elements(weights.up_bias),
                      .down_bias = Elements(weights.down_bias),
                      .norm_weight = Elements(weights.norm_weight),
                      .norm_bias = Elements(weights.norm_bias),
                      .second_norm_weight = Elements(weights.second_norm_weight),
                      .eps = weights.eps},
          .x = {},
          .residual = {}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<FfnBinding>> FfnBinding::Bind(std::shared_ptr<FfnOp> op,
                                                             const fusebox_ffn_weights* weights) {
  FUSEBOX_RETURN_IF_ERROR(op->engine().RequireDevice("a binding"));
  FUSEBOX_ASSIGN_OR_RETURN(const BoundWeights bound, ReadWeights(*op, weights));
  std::unique_ptr<FfnBinding> binding(new FfnBinding(std::move(op)));
  const FfnOp& of = binding->op();
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    for (size_t rung = 0; rung < of.NumRungs(i); ++rung) {
      FUSEBOX_RETURN_IF_ERROR(binding->FillParams(bound, of.Planned(i, rung).report.best.plan,
                                                  &binding->params_[i][rung]));
    }
  }
  binding->weights_ = OperandsOf(bound);
  binding->shadow_ = binding->op_->Shadow();
  return binding;
}

absl::Status FfnBinding::FillParams(const BoundWeights& weights, const FusionPlan& plan,
                                    FfnParams* params) const {
  const DriverApi& driver = op_->engine().driver();
  FillVectors(weights, params);
  return CudaStatus(driver, EncodeWeightMaps(driver, plan, weights.matrices, params),
                    "cuTensorMapEncodeTiled");
}

}  // namespace fusebox
