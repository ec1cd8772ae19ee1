#include <optional>
#include <utility>

#include "runtime/tools/bench_timer.h"
#include "runtime/tools/cluster_probe.h"
#include "runtime/tools/device_buffer.h"
#include "runtime/tools/forced_kernel.h"
#include "runtime/tools/gpu_session.h"
#include "runtime/tools/launch_buffers.h"
#include "runtime/tools/tool_module.h"
#include "src/base/status.h"
#include "src/device/device_profiles.h"
#include "src/plan/search.h"
#include "src/source/emit.h"
#include "tests/compile/small_kernel.h"
#include "tests/error/injection.h"

namespace fusebox {
namespace {

constexpr int kTokens = 5;
constexpr int kTile = 8;

FfnProblem Problem() {
  return {.hidden = DimK(512), .intermediate = DimN(1024), .form = FfnForm::kPlain};
}

absl::Status UseBuffers(const GpuSession& session) {
  const std::vector<uint16_t> values(64, 7);
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                           DeviceBuffer::Make(session, "values", values.size() * 2));
  FUSEBOX_RETURN_IF_ERROR(buffer.Fill(0));
  FUSEBOX_RETURN_IF_ERROR(buffer.UploadAll(values));
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> back, buffer.DownloadAll<uint16_t>());
  if (back != values) return absl::InternalError("other values came back");
  return buffer.CheckGuards();
}

absl::Status LaunchModule(GpuSession& session) {
  FUSEBOX_ASSIGN_OR_RETURN(const ToolModule module, ToolModule::Load(session, SmallKernel()));
  FUSEBOX_ASSIGN_OR_RETURN(CUfunction const function, module.Find("small"));
  FUSEBOX_RETURN_IF_ERROR(module.AllowDynamicSmem(function, 100 * 1024));
  int argument = 0;
  void* const parameters[] = {&argument};
  return module.Launch(function, {.threads = 128}, parameters, session.stream());
}

absl::Status TimeKernel(GpuSession& session, const FusionPlan& plan) {
  FUSEBOX_ASSIGN_OR_RETURN(const ForcedKernel kernel, ForcedKernel::Make(session, plan));
  const FfnProblem& problem = plan.problem;
  const int64_t hidden = problem.hidden.value(), intermediate = problem.intermediate.value();
  FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers buffers,
                           LaunchBuffers::Make(session, problem, kernel.workspace_bytes()));
  FUSEBOX_RETURN_IF_ERROR(buffers.InitWorkspaceByHand());
  FUSEBOX_ASSIGN_OR_RETURN(
      const DeviceBuffer weights,
      DeviceBuffer::Make(session, "weights", static_cast<size_t>(2 * hidden * intermediate) * 2));
  FfnOperandViews views;
  views.up = {
      .data = weights.as<void>(), .rows = intermediate, .columns = hidden, .row_stride = hidden};
  views.down = {.data = weights.as<void>(),
                .rows = hidden,
                .columns = intermediate,
                .row_stride = intermediate};
  views.x = buffers.x().View(kTokens);
  views.residual = buffers.residual().View(kTokens);
  FUSEBOX_ASSIGN_OR_RETURN(const FfnParams params, kernel.Params(views, buffers));
  return TimeGraph(session, /*launches=*/2, /*replays=*/1,
                   [&](int64_t, CUstream stream) {
                     return kernel.Launch(params, ProgrammaticOverlap::kAllowed, stream);
                   })
      .status();
}

absl::Status CountClusters(const GpuSession& session) {
  FUSEBOX_ASSIGN_OR_RETURN(const auto nvrtc, OpenFailingNvrtc());
  return CountResidentClusters(session.shared_api(), session.device(), NvrtcCompiler(nvrtc))
      .status();
}

// The kernels that the session takes from its cache.
absl::Status WarmSession(const std::string& cache_root, const FusionPlan& plan) {
  const auto silent = EventLog::Silent();
  CubinStore store({cache_root}, silent.get());
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source, Emit(plan, TemplateSet::Embedded()));
  FUSEBOX_RETURN_IF_ERROR(store.Store(source, MadeUpKernel()));
  return store.Store(SmallKernel(), MadeUpKernel());
}

}  // namespace

ScenarioRun RunToolsScenario(const std::string& cache_root) {
  ScenarioRun run;
  const FusionPlan plan =
      Search(Problem(), kTile, FindDeviceProfile("h200-sxm").value()).value().best.plan;
  Config config;
  config.cache_dirs = {cache_root};
  config.compile_mode = CompileMode::kNever;
  config.log_level = LogLevel::kOff;
  std::unique_ptr<GpuSession> session;
  const auto open = [&]() -> absl::Status {
    FUSEBOX_ASSIGN_OR_RETURN(session, GpuSession::Open(config, 0, OpenFailingDriver));
    return absl::OkStatus();
  };
  const bool went_well = run.Step("warm", [&] { return WarmSession(cache_root, plan); }) &&
                         run.Step("open", open) &&
                         run.Step("buffers", [&] { return UseBuffers(*session); }) &&
                         run.Step("module", [&] { return LaunchModule(*session); }) &&
                         run.Step("timing", [&] { return TimeKernel(*session, plan); }) &&
                         run.Step("clusters", [&] { return CountClusters(*session); });
  if (went_well) run.Finish();
  return run;
}

}  // namespace fusebox
