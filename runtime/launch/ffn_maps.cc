#include "runtime/launch/ffn_maps.h"

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

// Rows in memory of one box of weights.
int BoxRows(const FusionPlan& plan, const PhasePartition& phase) {
  return plan.problem.layout == WeightLayout::kInOut ? kBoxK : phase.rows_per_pass;
}

// Tokens of one box of activations: CTAs that multiply the same ones may copy a part each.
int BoxTokens(const FusionPlan& plan, const PhasePartition& phase) {
  const int sharers = plan.activation_multicast ? plan.cluster_size / phase.k_ctas : 1;
  return plan.token_tile / sharers;
}

// Packed rows of the workspace, from `offset` bytes.
MatrixView WorkspaceRows(const FusionPlan& plan, const void* workspace, int64_t offset,
                         int64_t rows, int64_t columns) {
  return {.data = static_cast<const char*>(workspace) + offset,
          .rows = rows,
          .columns = columns,
          .row_stride = columns,
          .dtype = plan.problem.dtype};
}

}  // namespace

CUresult EncodeWeightMaps(const DriverApi& api, const FusionPlan& plan,
                          const FfnWeightViews& weights, FfnParams* params) {
  const struct {
    const MatrixView& matrix;
    const PhasePartition& phase;
    TensorMap* map;
  } maps[] = {{weights.gate, plan.up, &params->gate},
              {weights.up, plan.up, &params->up},
              {weights.down, plan.down, &params->down}};
  for (const auto& [matrix, phase, map] : maps) {
    const CUresult result = EncodeTensorMap(api, matrix, BoxRows(plan, phase), map);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult EncodeActivationMaps(const DriverApi& api, const FusionPlan& plan, const MatrixView& x,
                              const void* workspace, FfnParams* params) {
  MatrixView rows = x;
  if (plan.problem.norm != Norm::kNone) {
    rows = WorkspaceRows(plan, workspace, NormalizedRowsOffset(plan),
                         int64_t{plan.num_clusters} * plan.token_tile, x.columns);
  }
  const CUresult result = EncodeTensorMap(api, rows, BoxTokens(plan, plan.up), &params->x);
  if (result != CUDA_SUCCESS) return result;
  if (!plan.gathers_over_grid()) {
    params->h = params->x;  // a valid map; the kernel loads nothing through it
    return CUDA_SUCCESS;
  }
  const MatrixView h = WorkspaceRows(plan, workspace, GatheredRowsOffset(plan), x.rows,
                                     plan.problem.intermediate.value());
  return EncodeTensorMap(api, h, BoxTokens(plan, plan.down), &params->h);
}

}  // namespace fusebox
