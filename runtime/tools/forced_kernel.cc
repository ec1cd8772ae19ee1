#include "runtime/tools/forced_kernel.h"

#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<ForcedKernel> ForcedKernel::Make(GpuSession& session, const FusionPlan& plan,
                                                const EmitOptions& options,
                                                const TemplateSet& templates) {
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source, Emit(plan, templates, options));
  FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel served,
                           session.kernels().GetOrCompile(source, session.permission()));
  FUSEBOX_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedKernel> loaded,
                           LoadedKernel::Load(session.context(), source, *served.kernel));
  return ForcedKernel(&session, plan, static_cast<size_t>(source.workspace_bytes),
                      std::move(loaded));
}

absl::StatusOr<FfnParams> ForcedKernel::Params(const FfnOperandViews& operands,
                                               const LaunchBuffers& buffers) const {
  const bool is_gated = plan_.problem.form == FfnForm::kGated;
  FfnParams params = {};
  const struct {
    const MatrixView& matrix;
    int box_rows;
    TensorMap* map;
  } maps[] = {{is_gated ? operands.gate : operands.up, plan_.up.rows_per_cta, &params.gate},
              {operands.up, plan_.up.rows_per_cta, &params.up},
              {operands.down, plan_.down.rows_per_pass, &params.down},
              {operands.x, plan_.token_tile, &params.x}};
  for (const auto& [matrix, box_rows, map] : maps) {
    FUSEBOX_RETURN_IF_ERROR(session_->Check(EncodeTensorMap(session_->api(), matrix, box_rows, map),
                                            "cuTensorMapEncodeTiled"));
  }
  params.y = buffers.y().buffer().as<unsigned short>();
  params.y_stride = buffers.y().stride();
  params.residual = static_cast<const unsigned short*>(operands.residual.data);
  params.residual_stride = operands.residual.row_stride;
  params.workspace = buffers.workspace().as<unsigned int>();
  params.tokens = static_cast<unsigned int>(operands.x.rows);
  return params;
}

absl::Status ForcedKernel::Launch(const FfnParams& params, ProgrammaticOverlap overlap,
                                  CUstream stream) const {
  return session_->Check(LaunchKernel(session_->api(), *kernel_, params, overlap, stream),
                         "cuLaunchKernelEx");
}

}  // namespace fusebox
