#include "runtime/engine/engine.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/ffn_op.h"
#include "runtime/engine/planner.h"
#include "src/base/status.h"
#include "src/device/device_profiles.h"

namespace fusebox {
namespace {

absl::StatusOr<std::unique_ptr<EventLog>> OpenLog(const EngineSettings& settings) {
  return EventLog::Create({.level = settings.config.log_level,
                           .file = settings.config.log_file,
                           .callback = settings.log_callback,
                           .user = settings.log_user});
}

}  // namespace

absl::StatusOr<std::shared_ptr<Engine>> Engine::Create(const EngineSettings& settings,
                                                       const DriverLoader& load_driver,
                                                       const NvrtcLoader& load_nvrtc) {
  FUSEBOX_ASSIGN_OR_RETURN(std::unique_ptr<EventLog> log, OpenLog(settings));
  std::shared_ptr<Engine> engine(new Engine(settings, std::move(log)));
  for (const std::string& warning : settings.config.warnings) {
    engine->log_->Write(LogLevel::kWarn, "config", {{"warning", warning}});
  }
  FUSEBOX_ASSIGN_OR_RETURN(engine->overrides_, ReadOverrides(settings.config));
  FUSEBOX_RETURN_IF_ERROR(engine->OpenDevice(load_driver));
  KernelService::Options options = KernelService::OptionsFrom(settings.config);
  options.load_nvrtc = load_nvrtc;
  if (engine->driver_ != nullptr) options.max_nvrtc_major = engine->driver_->version / 1000;
  engine->kernels_ =
      std::make_unique<KernelService>(std::move(options), engine->log_.get(), &engine->counters_);
  engine->recorder_ = std::make_unique<ManifestRecorder>(settings.config.record_file,
                                                         engine->spec_.name, engine->log_.get());
  engine->LogOverrides();
  engine->log_->Write(LogLevel::kInfo, "engine",
                      {{"gpu", engine->gpu_name_},
                       {"profile", engine->spec_.name},
                       {"compile", ToString(settings.config.compile_mode)},
                       {"cache", absl::StrJoin(settings.config.cache_dirs, ":")}});
  return engine;
}

Engine::Engine(const EngineSettings& settings, std::unique_ptr<EventLog> log)
    : settings_(settings),
      log_(std::move(log)),
      pool_(
          settings.config.compile_threads,
          [this] {
            NoticeWanted();
            CollectShadows();
          },
          [this](const absl::Status& status) { ReportLostWork(status); }) {}

Engine::~Engine() { Shutdown(); }

void Engine::Shutdown() {
  Freeze();
  pool_.Stop();
  (void)CatchExceptions([&] {
    NoticeWanted();  // what the last launches found missing is still to be recorded
    return absl::OkStatus();
  });
  // A prepare that another thread has under way ends later; the caller's callback may be gone then.
  log_->DropCallback();
}

absl::Status Engine::OpenDevice(const DriverLoader& load_driver) {
  if (settings_.device_ordinal == kNoDevice) return ChooseProfile(std::nullopt);
  FUSEBOX_ASSIGN_OR_RETURN(driver_, load_driver());
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceReport device,
                           QueryDevice(*driver_, settings_.device_ordinal));
  FUSEBOX_RETURN_IF_ERROR(CheckServed(device));
  FUSEBOX_RETURN_IF_ERROR(ChooseProfile(device));
  FUSEBOX_ASSIGN_OR_RETURN(context_, PrimaryContext::Retain(driver_, device.device));
  return absl::OkStatus();
}

absl::Status Engine::ChooseProfile(const std::optional<DeviceReport>& device) {
  std::string name = settings_.config.device_profile;
  if (name.empty() && !device.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: an engine without GPU (device ordinal -1) needs device_profile or "
                     "FUSEBOX_DEVICE_PROFILE; known: ",
                     absl::StrJoin(DeviceProfileNames(), ", ")));
  }
  if (name.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(name, ProfileNameFor(device->name));
  }
  FUSEBOX_ASSIGN_OR_RETURN(spec_, FindDeviceProfile(name));
  gpu_name_ = device.has_value() ? device->name : spec_.name;
  if (device.has_value() && device->num_sms < spec_.num_sms) {
    log_->Write(
        LogLevel::kWarn, "engine",
        {{"event", "profile_larger_than_gpu"},
         {"gpu", device->name},
         {"sms", device->num_sms},
         {"profile", spec_.name},
         {"profile_sms", spec_.num_sms},
         {"effect", "plans that do not fit give way to smaller ones when they are loaded"}});
  }
  return absl::OkStatus();
}

void Engine::Freeze() {
  absl::MutexLock lock(&publish_mutex_);
  frozen_.store(true, std::memory_order_release);
}

bool Engine::PublishUnlessFrozen(absl::FunctionRef<void()> publish) {
  absl::MutexLock lock(&publish_mutex_);
  if (frozen_.load(std::memory_order_relaxed)) return false;
  publish();
  return true;
}

absl::Status Engine::WaitForBackground(absl::Duration timeout) { return pool_.Wait(timeout); }

absl::Status Engine::RequireDevice(std::string_view what) const {
  if (has_device()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("device: ", what,
                   " needs a GPU, and this engine was made without one (device "
                   "ordinal -1); make an engine with the GPU's ordinal"));
}

absl::StatusOr<std::shared_ptr<const LoadedKernel>> Engine::GetLoaded(const KernelSource& source,
                                                                      Residency residency) {
  return CatchExceptions([&]() -> absl::StatusOr<std::shared_ptr<const LoadedKernel>> {
    if (has_device()) {
      return loaded_[static_cast<size_t>(residency)].GetOrMake(
          source.Digest(), [&] { return Load(source, residency); });
    }
    const CompilePermission permission = PermissionFor(config().compile_mode);
    FUSEBOX_RETURN_IF_ERROR(kernels_->GetOrCompile(source, permission).status());
    return std::shared_ptr<const LoadedKernel>();
  });
}

absl::StatusOr<std::shared_ptr<const LoadedKernel>> Engine::Load(const KernelSource& source,
                                                                 Residency residency) {
  const CompilePermission permission = PermissionFor(config().compile_mode);
  FUSEBOX_ASSIGN_OR_RETURN(ServedKernel served, kernels_->GetOrCompile(source, permission));
  auto loaded = LoadedKernel::Load(context_, source, *served.kernel, residency);
  if (absl::IsDataLoss(loaded.status()) && served.origin != KernelOrigin::kCompiled &&
      permission == CompilePermission::kAllowed) {
    // Either the entry is bad or the host is: one that refuses a fresh kernel too keeps the entry.
    const std::string reason(loaded.status().message());
    FUSEBOX_ASSIGN_OR_RETURN(served.kernel, kernels_->CompileAnew(source));
    served.origin = KernelOrigin::kCompiled;
    loaded = LoadedKernel::Load(context_, source, *served.kernel, residency);
    if (loaded.ok()) kernels_->Replace(source, *served.kernel, reason);
  }
  FUSEBOX_RETURN_IF_ERROR(loaded.status());
  log_->Write(LogLevel::kInfo, "load",
              {{"kernel", source.name},
               {"fp", source.Digest().ToHex()},
               {"from", ToString(served.origin)},
               {"regs", served.kernel->resources.registers},
               {"clusters", source.launch.grid_ctas / source.launch.cluster_size},
               {"max_clusters", (*loaded)->max_active_clusters()}});
  if (served.kernel->resources.setmaxnreg_ignored) {
    log_->Write(LogLevel::kWarn, "load",
                {{"event", "setmaxnreg_ignored"}, {"kernel", source.name}, {"ptxas", "C7508"}});
  }
  return loaded;
}

void Engine::Adopt(const std::shared_ptr<FfnOp>& op) {
  absl::MutexLock lock(&ops_mutex_);
  ops_.erase(
      std::remove_if(ops_.begin(), ops_.end(), [](const auto& known) { return known.expired(); }),
      ops_.end());
  ops_.push_back(op);
}

// To be released without the lock: an op's end may be long.
std::vector<std::shared_ptr<FfnOp>> Engine::LiveOps() {
  std::vector<std::shared_ptr<FfnOp>> ops;
  absl::MutexLock lock(&ops_mutex_);
  for (const std::weak_ptr<FfnOp>& known : ops_) {
    if (std::shared_ptr<FfnOp> op = known.lock()) ops.push_back(std::move(op));
  }
  return ops;
}

void Engine::CollectShadows() {
  if (config().shadow_period == 0) return;
  for (const std::shared_ptr<FfnOp>& op : LiveOps()) op->CollectShadow();
}

bool Engine::PreparesWanted() const {
  return has_device() && !frozen() && config().compile_mode == CompileMode::kBackground;
}

bool Engine::NoticesWanted() const {
  return PreparesWanted() || (has_device() && recorder_ != nullptr && recorder_->enabled());
}

void Engine::NoteUnforced(const FfnProblem& problem) {
  if (overrides_.plans.empty() || overrides_.plans.HasPlanFor(problem)) return;
  const bool is_first = !noted_unforced_.exchange(true);
  log_->Write(is_first ? LogLevel::kWarn : LogLevel::kDebug, "plan",
              {{"event", "force_plan_ignored"},
               {"op", problem.Name()},
               {"reason", "no plan of FUSEBOX_FORCE_PLAN is for this op; it is planned as usual"},
               {"first", overrides_.plans.FirstName()}});
}

void Engine::NoticeWanted() {
  if (!NoticesWanted()) return;
  for (const std::shared_ptr<FfnOp>& op : LiveOps()) op->NoticeWanted();
}

void Engine::LogOverrides() const {
  if (!settings_.config.template_dir.empty()) {
    log_->Write(LogLevel::kWarn, "engine",
                {{"event", "template_dir"},
                 {"folder", settings_.config.template_dir},
                 {"effect", "kernels are made of this device code, not of what was built in"}});
  }
  if (!overrides_.plans.empty()) {
    log_->Write(LogLevel::kWarn, "engine",
                {{"event", "force_plan"},
                 {"plans", static_cast<int64_t>(overrides_.plans.size())},
                 {"first", overrides_.plans.FirstName()},
                 {"effect", "these are used for their ops and token tiles, not the search's"}});
  }
}

void Engine::ReportLostWork(const absl::Status& status) noexcept {
  counters_.kernels_failed.Add();
  try {
    log_->Write(LogLevel::kError, "prepare", {{"event", "lost"}, {"reason", status.message()}});
  } catch (...) {  // no memory for the line either; the counter tells
  }
}

}  // namespace fusebox
