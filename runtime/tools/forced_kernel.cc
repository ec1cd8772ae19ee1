#include "runtime/tools/forced_kernel.h"

#include "runtime/launch/ffn_maps.h"
#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<ForcedKernel> ForcedKernel::Make(GpuSession& session, const FusionPlan& plan,
                                                const EmitOptions& options,
                                                const std::optional<TemplateSet>& templates,
                                                Residency residency) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const KernelSource source,
      Emit(plan, templates.has_value() ? *templates : session.overrides().templates, options));
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
  FfnParams params = {};
  const FfnWeightViews weights{
      .gate = problem.form == FfnForm::kGated ? operands.gate : operands.up,
      .up = operands.up,
      .down = operands.down};
  FUSEBOX_RETURN_IF_ERROR(session_->Check(
      EncodeWeightMaps(session_->api(), plan_, weights, &params), "cuTensorMapEncodeTiled"));
  FUSEBOX_RETURN_IF_ERROR(
      session_->Check(EncodeActivationMaps(session_->api(), plan_, operands.x,
                                           buffers.workspace().as<void>(), &params),
                      "cuTensorMapEncodeTiled"));
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

absl::Status ForcedKernel::Launch(const FfnParams& params, ProgrammaticOverlap overlap,
                                  CUstream stream) const {
  return session_->Check(LaunchKernel(session_->api(), *kernel_, params, overlap, stream),
                         "cuLaunchKernelEx");
}

}  // namespace fusebox
