// ForcedKernel runs one given plan, past the search and the engine: for sweeps over plans, jitter
// builds and mutated templates. Legality on the device is the caller's. Immutable. REQUIRES: the
// session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_FORCED_KERNEL_H_
#define FUSEBOX_RUNTIME_TOOLS_FORCED_KERNEL_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels_templates/abi/kernel_params.h"
#include "runtime/launch/ffn_operands.h"
#include "runtime/launch/kernel_launch.h"
#include "runtime/launch/loaded_kernel.h"
#include "runtime/tools/gpu_session.h"
#include "runtime/tools/launch_buffers.h"
#include "src/plan/fusion_plan.h"
#include "src/source/emit.h"

namespace fusebox {

class ForcedKernel {
 public:
  // `templates` in the place of the session's.
  static absl::StatusOr<ForcedKernel> Make(
      GpuSession& session, const FusionPlan& plan, const EmitOptions& options = {},
      const std::optional<TemplateSet>& templates = std::nullopt,
      Residency residency = Residency::kAllClusters);

  // Weights, x and residual from `operands` (x.rows tokens); y, residual_out and the workspace from
  // `buffers`.
  absl::StatusOr<FfnParams> Params(const FfnOperandViews& operands,
                                   const LaunchBuffers& buffers) const;
  absl::Status Launch(const FfnParams& params, ProgrammaticOverlap overlap, CUstream stream) const;

  const FusionPlan& plan() const { return plan_; }
  const LoadedKernel& loaded() const { return *kernel_; }
  size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  ForcedKernel(const GpuSession* session, const FusionPlan& plan, size_t workspace_bytes,
               std::shared_ptr<const LoadedKernel> kernel)
      : session_(session),
        plan_(plan),
        workspace_bytes_(workspace_bytes),
        kernel_(std::move(kernel)) {}

  const GpuSession* session_;
  FusionPlan plan_;
  size_t workspace_bytes_;
  std::shared_ptr<const LoadedKernel> kernel_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_FORCED_KERNEL_H_
