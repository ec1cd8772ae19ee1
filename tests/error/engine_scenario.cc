#include <filesystem>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusebox/fusebox.h"
#include "runtime/engine/handles.h"
#include "src/base/status.h"
#include "tests/driver/fake_driver.h"
#include "tests/engine/engine_fixture.h"
#include "tests/error/injection.h"

namespace fusebox {
namespace {

// Small, so that planning takes little, with a ladder of more than one rung.
constexpr int64_t kHidden = 512;
constexpr int64_t kIntermediate = 1024;
constexpr int kMaxTokens = 32;  // three tiles
CUstream const kStream = reinterpret_cast<CUstream>(0x77);

fusebox_ffn_desc Desc() {
  return {.struct_size = sizeof(fusebox_ffn_desc),
          .hidden = kHidden,
          .intermediate = kIntermediate,
          .dtype = FUSEBOX_DTYPE_BF16,
          .activation = FUSEBOX_ACTIVATION_SILU,
          .gated = 1,
          .max_tokens = kMaxTokens};
}

// What the C API answered, as a status with its message.
absl::Status StatusOf(fusebox_status status) {
  if (status == FUSEBOX_OK) return absl::OkStatus();
  const char* const message = fusebox_last_error_message();
  return status == FUSEBOX_DECLINED ? absl::UnimplementedError(message)
                                    : absl::UnknownError(message);
}

// One engine from its creation to its end.
class EngineLife {
 public:
  // Every `shadow_period`-th launch is compared with the oracle; 0: none.
  EngineLife(std::string cache_root, ScenarioRun& run, int shadow_period = 0)
      : cache_root_(std::move(cache_root)), run_(run), shadow_period_(shadow_period) {}

  bool Create() {
    return run_.Step("engine_create", [&] { return MakeEngine(); }) && run_.Step("ffn_create", [&] {
      const fusebox_ffn_desc desc = Desc();
      fusebox_op* op = nullptr;
      const absl::Status status = StatusOf(fusebox_ffn_create(engine_.get(), &desc, &op));
      op_.reset(op);
      return status;
    });
  }

  bool Prepare(int32_t tokens) {
    return run_.Step(absl::StrCat("op_prepare ", tokens), [&] {
      return StatusOf(fusebox_op_prepare(op_.get(), &tokens, 1, FUSEBOX_PREPARE_BLOCK));
    });
  }

  // A failure is in the log.
  bool PrepareInBackground(int32_t tokens) {
    return run_.Step(absl::StrCat("op_prepare in the background ", tokens), [&]() -> absl::Status {
      FUSEBOX_RETURN_IF_ERROR(
          StatusOf(fusebox_op_prepare(op_.get(), &tokens, 1, FUSEBOX_PREPARE_BACKGROUND)));
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_engine_wait(engine_.get(), 60000)));
      int32_t ready = 0;
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_op_is_ready(op_.get(), tokens, &ready)));
      if (ready == 1) return absl::OkStatus();
      const std::lock_guard<std::mutex> lock(log_mutex_);
      return absl::UnknownError(last_error_line_);
    });
  }

  bool Bind() {
    return run_.Step("ffn_bind", [&] {
      const fusebox_ffn_weights weights = {.struct_size = sizeof(weights),
                                           .gate_up = DeviceAddress(0x10000000),
                                           .down = DeviceAddress(0x20000000)};
      fusebox_binding* binding = nullptr;
      const absl::Status status = StatusOf(fusebox_ffn_bind(op_.get(), &weights, &binding));
      binding_.reset(binding);
      return status;
    });
  }

  bool InitWorkspace() {
    return run_.Step("workspace_init", [&]() -> absl::Status {
      size_t bytes = 0;
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_op_workspace_size(op_.get(), 0, &bytes)));
      args_.workspace = DeviceAddress(0x50000000);
      args_.workspace_bytes = bytes;
      return StatusOf(fusebox_workspace_init(op_.get(), args_.workspace, bytes, kStream));
    });
  }

  bool Launch(int32_t tokens) {
    return run_.Step(absl::StrCat("ffn_launch ", tokens), [&] {
      args_.tokens = tokens;
      return StatusOf(fusebox_ffn_launch(binding_.get(), &args_, kStream));
    });
  }

  bool LaunchUnderCapture(int32_t tokens) {
    FakeStreams& streams = FakeDriver::Instance().streams;
    return run_.Step("ffn_launch under capture", [&]() -> absl::Status {
      if (streams.BeginCapture(kStream, CU_STREAM_CAPTURE_MODE_GLOBAL) != CUDA_SUCCESS) {
        return absl::InternalError("the fake begins no capture");
      }
      args_.tokens = tokens;
      const absl::Status launched = StatusOf(fusebox_ffn_launch(binding_.get(), &args_, kStream));
      CUgraph graph = nullptr;
      if (streams.EndCapture(kStream, &graph) != CUDA_SUCCESS) {
        return absl::InternalError("the launch broke the capture");
      }
      (void)streams.Release(graph);
      return launched;
    });
  }

  // What only reads; and what a frozen engine answers, which asks the driver for nothing.
  bool ReadAndFreeze(int32_t unprepared_tokens) {
    return run_.Step("plan_json, stats, freeze", [&]() -> absl::Status {
      size_t bytes = 0;
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_op_plan_json(op_.get(), 5, nullptr, 0, &bytes)));
      fusebox_engine_stats_values stats = {.struct_size = sizeof(stats)};
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_engine_stats(engine_.get(), &stats)));
      FUSEBOX_RETURN_IF_ERROR(
          StatusOf(fusebox_engine_stats_text(engine_.get(), nullptr, 0, &bytes)));
      FUSEBOX_RETURN_IF_ERROR(StatusOf(fusebox_engine_freeze(engine_.get())));
      args_.tokens = unprepared_tokens;
      if (fusebox_ffn_launch(binding_.get(), &args_, kStream) != FUSEBOX_NOT_READY) {
        return absl::InternalError("a launch without a kernel is not NOT_READY");
      }
      return absl::OkStatus();
    });
  }

  const FfnOp& op() const { return *op_->ffn; }

 private:
  absl::Status MakeEngine() {
    EngineSettings settings;
    settings.config.cache_dirs = {cache_root_};
    settings.config.compile_mode = CompileMode::kBlock;
    settings.config.log_level = LogLevel::kError;
    settings.config.shadow_period = shadow_period_;
    settings.log_user = this;
    settings.log_callback = [](void* user, fusebox_log_level, const char* line) {
      auto* const life = static_cast<EngineLife*>(user);
      const std::lock_guard<std::mutex> lock(life->log_mutex_);
      life->last_error_line_ = line;
    };
    auto engine = Engine::Create(settings, OpenFailingDriver, OpenFailingNvrtc);
    if (!engine.ok()) return engine.status();
    engine_.reset(new fusebox_engine{*std::move(engine)});
    return absl::OkStatus();
  }

  const std::string cache_root_;
  ScenarioRun& run_;
  const int shadow_period_;
  std::mutex log_mutex_;
  std::string last_error_line_;
  fusebox_ffn_args args_ = {
      .struct_size = sizeof(args_), .x = DeviceAddress(0x30000000), .y = DeviceAddress(0x40000000)};
  EnginePointer engine_;
  OpPointer op_;
  BindingPointer binding_;
};

}  // namespace

ScenarioRun RunEngineScenario(const std::string& cache_root) {
  ScenarioRun run;
  {
    EngineLife first(cache_root, run);
    const bool went_well = first.Create() && first.Prepare(8) && first.PrepareInBackground(16) &&
                           first.Bind() && first.InitWorkspace() && first.Launch(5) &&
                           first.LaunchUnderCapture(16) && first.ReadAndFreeze(32);
    if (!went_well) return run;
  }
  EngineLife second(cache_root, run);
  if (!second.Create()) return run;
  const FusionPlan& planned = second.op().Planned(0).report.best.plan;
  FakeDriver::Instance().resident_ctas = planned.grid_ctas() - 1;
  if (second.Bind() && second.InitWorkspace() && second.Prepare(8) && second.Launch(8)) {
    run.Finish();
  }
  return run;
}

ScenarioRun RunShadowScenario(const std::string& cache_root) {
  ScenarioRun run;
  EngineLife life(cache_root, run, /*shadow_period=*/1);
  if (life.Create() && life.Prepare(8) && life.Bind() && life.InitWorkspace() && life.Launch(5) &&
      life.Launch(8)) {
    run.Finish();
  }
  return run;
}

}  // namespace fusebox
