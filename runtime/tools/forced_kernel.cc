#include "runtime/tools/forced_kernel.h"

#include "src/base/status.h"
#include "src/plan/footprint.h"

namespace fusebox {

absl::StatusOr<ForcedKernel> ForcedKernel::Make(GpuSession& session, const FusionPlan& plan,
                                                const EmitOptions& options,
                                                const TemplateSet& templates, Residency residency) {
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source, Emit(plan, templates, options));
  FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel served,
                           session.kernels().GetOrCompile(source, session.permission()));
  FUSEBOX_ASSIGN_OR_RETURN(
      std::shared_ptr<const LoadedKernel> loaded,
      LoadedKernel::Load(session.context(), source, *served.kernel, residency));
  return ForcedKernel(&session, plan, static_cast<size_t>(source.workspace_bytes),
                      std::move(loaded));
}

absl::StatusOr<FfnParams> ForcedKernel::Params(const FfnOperandViews& operands,
                                               const LaunchBuffers& buffers) const {
  const FfnProblem& problem = plan_.problem;
  const bool is_gated = problem.form == FfnForm::kGated;
  FfnParams params = {};
  const struct {
    const MatrixView& matrix;
    int box_rows;
    TensorMap* map;
  } maps[] = {{is_gated ? operands.gate : operands.up, plan_.up.rows_per_cta, &params.gate},
              {operands.up, plan_.up.rows_per_cta, &params.up},
              {operands.down, plan_.down.rows_per_pass, &params.down},
              {RowsOfPhaseOne(operands, buffers), plan_.token_tile, &params.x}};
  for (const auto& [matrix, box_rows, map] : maps) {
    FUSEBOX_RETURN_IF_ERROR(session_->Check(EncodeTensorMap(session_->api(), matrix, box_rows, map),
                                            "cuTensorMapEncodeTiled"));
  }
  params.x_rows = static_cast<const unsigned short*>(operands.x.data);
  params.x_stride = operands.x.row_stride;
  params.y = buffers.y().buffer().as<unsigned short>();
  params.y_stride = buffers.y().stride();
  const MatrixView& residual =
      problem.residual_mode == ResidualMode::kSandwich ? operands.x : operands.residual;
  params.residual = static_cast<const unsigned short*>(residual.data);
  params.residual_stride = residual.row_stride;
  params.residual_out = buffers.residual_out().buffer().as<unsigned short>();
  params.residual_out_stride = buffers.residual_out().stride();
  params.norm_weight = operands.vectors.norm_weight;
  params.norm_bias = operands.vectors.norm_bias;
  params.second_norm_weight = operands.vectors.second_norm_weight;
  params.gate_bias = operands.vectors.gate_bias;
  params.up_bias = operands.vectors.up_bias;
  params.down_bias = operands.vectors.down_bias;
  params.eps = operands.vectors.eps;
  params.workspace = buffers.workspace().as<unsigned int>();
  params.tokens = static_cast<unsigned int>(operands.x.rows);
  return params;
}

// x, or for an op with a norm the normalised rows in the workspace, each cluster's in turn.
MatrixView ForcedKernel::RowsOfPhaseOne(const FfnOperandViews& operands,
                                        const LaunchBuffers& buffers) const {
  if (plan_.problem.norm == Norm::kNone) return operands.x;
  return {.data = buffers.workspace().as<unsigned char>() + NormalizedRowsOffset(plan_),
          .rows = int64_t{plan_.num_clusters} * plan_.token_tile,
          .columns = plan_.problem.hidden.value(),
          .row_stride = plan_.problem.hidden.value(),
          .dtype = plan_.problem.dtype};
}

absl::Status ForcedKernel::Launch(const FfnParams& params, ProgrammaticOverlap overlap,
                                  CUstream stream) const {
  return session_->Check(LaunchKernel(session_->api(), *kernel_, params, overlap, stream),
                         "cuLaunchKernelEx");
}

}  // namespace fusebox
