#include "runtime/tools/bench_launch_cost.h"

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/engine/planner.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/forced_kernel.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int kBatches = 300;
constexpr int kLaunchesOfBatch = 64;  // far below what a stream queues before it blocks

// us of CPU a launch, of one batch.
template <typename Launch>
absl::StatusOr<double> TimeBatch(const GpuSession& session, const Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunchesOfBatch; ++i) {
    if (!launch()) return absl::InternalError("a launch failed");
  }
  const auto end = std::chrono::steady_clock::now();
  FUSEBOX_RETURN_IF_ERROR(session.Synchronize());
  return std::chrono::duration<double, std::micro>(end - start).count() / kLaunchesOfBatch;
}

}  // namespace

absl::StatusOr<LaunchCost> MeasureLaunchCost(GpuSession& session, const MeasureKernels& kernels,
                                             const api::Engine& engine, const DeviceSpec& gpu,
                                             const FfnProblem& problem, int64_t tokens) {
  api::Op op;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(engine, DescOf(problem)).code()));
  const auto count = static_cast<int32_t>(tokens);
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.Prepare(&count, 1, FUSEBOX_PREPARE_BLOCK).code()));
  FUSEBOX_ASSIGN_OR_RETURN(const FfnLayer layer, FfnLayer::Make(session, kernels, problem, 1));
  api::Binding binding;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(binding.BindFfn(op, layer.weights()).code()));
  FUSEBOX_ASSIGN_OR_RETURN(const int tile, TokenTileFor(tokens));
  FUSEBOX_ASSIGN_OR_RETURN(const SearchReport report,
                           ChoosePlan(problem, tile, gpu, session.overrides()));
  FUSEBOX_ASSIGN_OR_RETURN(const ForcedKernel kernel,
                           ForcedKernel::Make(session, report.best.plan));
  FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers buffers,
                           LaunchBuffers::Make(session, problem, kernel.workspace_bytes()));
  for (const TokenMatrix* matrix : {&buffers.x(), &buffers.residual()}) {
    FUSEBOX_RETURN_IF_ERROR(kernels.FillUniform(matrix->View(tokens), kActivationLimit, 1));
  }
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      op.InitWorkspace(buffers.workspace().as<void>(), kernel.workspace_bytes(), session.stream())
          .code()));
  FfnOperandViews views = layer.views();
  views.x = buffers.x().View(tokens);
  views.residual = buffers.residual().View(tokens);
  FUSEBOX_ASSIGN_OR_RETURN(FfnParams params, kernel.Params(views, buffers));
  const fusebox_ffn_args args = buffers.Args(tokens, problem.residual_mode);
  const LaunchConfig config(kernel.loaded().launch(), ProgrammaticOverlap::kAllowed,
                            session.stream());
  void* parameters[] = {&params};

  std::vector<double> launch_micros;
  std::vector<double> bare_micros;
  for (int i = 0; i < kBatches; ++i) {
    FUSEBOX_ASSIGN_OR_RETURN(const double launch, TimeBatch(session, [&] {
                               return static_cast<bool>(binding.LaunchFfn(args, session.stream()));
                             }));
    FUSEBOX_ASSIGN_OR_RETURN(const double bare, TimeBatch(session, [&] {
                               return session.api().LaunchKernelEx(
                                          config.get(), kernel.loaded().function(), parameters,
                                          nullptr) == CUDA_SUCCESS;
                             }));
    if (i < kBatches / 10) continue;  // warm-up
    launch_micros.push_back(launch);
    bare_micros.push_back(bare);
  }
  return LaunchCost{.launch = TimingOf(std::move(launch_micros)),
                    .bare = TimingOf(std::move(bare_micros)),
                    .plan = report.best.plan.Summary()};
}

}  // namespace fusebox
