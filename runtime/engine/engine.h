// Engine is one GPU (or none) with its settings, caches, log, counters and background threads; ops
// are made on it. Invariant: after Freeze no kernel becomes ready any more. Never changes the
// caller's current context beyond a call. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_ENGINE_H_
#define FUSEBOX_RUNTIME_ENGINE_ENGINE_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/cache/single_flight.h"
#include "runtime/driver/device_query.h"
#include "runtime/driver/handles.h"
#include "runtime/engine/compile_pool.h"
#include "runtime/engine/counters.h"
#include "runtime/engine/kernel_service.h"
#include "runtime/engine/manifest_recorder.h"
#include "runtime/engine/overrides.h"
#include "runtime/engine/settings.h"
#include "runtime/launch/loaded_kernel.h"
#include "runtime/launch/workspace_table.h"
#include "runtime/trace/event_log.h"
#include "src/device/device_spec.h"

namespace fusebox {

class FfnOp;

class Engine {
 public:
  using DriverLoader = std::function<absl::StatusOr<std::shared_ptr<const DriverApi>>()>;

  using NvrtcLoader = std::function<absl::StatusOr<std::shared_ptr<const NvrtcApi>>()>;

  // `load_driver` is not called for kNoDevice; an empty `load_nvrtc` searches where the settings
  // say. Tests hand in tables of their own.
  static absl::StatusOr<std::shared_ptr<Engine>> Create(
      const EngineSettings& settings, const DriverLoader& load_driver = LoadDriver,
      const NvrtcLoader& load_nvrtc = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Freezes, and ends background work: waits for what runs, drops what is queued. Launches still
  // work.
  void Shutdown();
  void Freeze() ABSL_LOCKS_EXCLUDED(publish_mutex_);
  bool frozen() const { return frozen_.load(std::memory_order_acquire); }
  absl::Status WaitForBackground(absl::Duration timeout);  // DeadlineExceeded (NOT_READY)

  // Runs `publish` unless the engine is frozen; the two never overlap. False when it was frozen.
  bool PublishUnlessFrozen(absl::FunctionRef<void()> publish) ABSL_LOCKS_EXCLUDED(publish_mutex_);

  // FailedPrecondition for an engine without GPU.
  absl::Status RequireDevice(std::string_view what) const;
  bool has_device() const { return context_ != nullptr; }

  // From caches or NVRTC, then into the GPU (null for an engine without one, whose kernels are only
  // compiled). Declined when it does not hold as many clusters as `residency` asks for. An
  // exception on the way (bad_alloc) is a status like any other failure.
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> GetLoaded(const KernelSource& source,
                                                                Residency residency)
      ABSL_LOCKS_EXCLUDED(publish_mutex_);

  // Counts the shadow launches that have finished.
  void CollectShadows() ABSL_LOCKS_EXCLUDED(ops_mutex_);

  void Adopt(const std::shared_ptr<FfnOp>& op) ABSL_LOCKS_EXCLUDED(ops_mutex_);

  const Config& config() const { return settings_.config; }
  const DeviceSpec& spec() const { return spec_; }
  const DriverApi& driver() const { return *driver_; }
  const PrimaryContext& context() const { return *context_; }
  const std::shared_ptr<PrimaryContext>& shared_context() const { return context_; }
  int device_ordinal() const { return settings_.device_ordinal; }
  const std::string& gpu_name() const { return gpu_name_; }
  const EventLog& log() const { return *log_; }
  EngineCounters& counters() { return counters_; }
  WorkspaceTable& workspaces() { return workspaces_; }
  const WorkspaceTable& workspaces() const { return workspaces_; }
  CompilePool& pool() { return pool_; }
  KernelService& kernels() { return *kernels_; }
  const PlanOverrides& overrides() const { return overrides_; }
  // Says that no forced plan is for this op, where there are any: aloud for the first such op.
  void NoteUnforced(const FfnProblem& problem);
  ManifestRecorder& recorder() { return *recorder_; }
  // What launches found missing is prepared in the background; it is looked for to be prepared, or
  // to be recorded.
  bool PreparesWanted() const;
  bool NoticesWanted() const;

 private:
  Engine(const EngineSettings& settings, std::unique_ptr<EventLog> log);
  absl::Status OpenDevice(const DriverLoader& load_driver);
  absl::Status ChooseProfile(const std::optional<DeviceReport>& device);
  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(const KernelSource& source,
                                                           Residency residency);
  void NoticeWanted() ABSL_LOCKS_EXCLUDED(ops_mutex_);
  std::vector<std::shared_ptr<FfnOp>> LiveOps() ABSL_LOCKS_EXCLUDED(ops_mutex_);
  void LogOverrides() const;
  // Of background work that an exception ended.
  void ReportLostWork(const absl::Status& status) noexcept;

  const EngineSettings settings_;
  const std::unique_ptr<EventLog> log_;
  std::shared_ptr<const DriverApi> driver_;
  std::shared_ptr<PrimaryContext> context_;
  std::string gpu_name_;  // the driver's name, or the profile's without a GPU
  DeviceSpec spec_;
  EngineCounters counters_;
  WorkspaceTable workspaces_;
  PlanOverrides overrides_;
  std::unique_ptr<ManifestRecorder> recorder_;
  std::unique_ptr<KernelService> kernels_;
  // By residency: what fits in waves need not fit as a whole.
  std::array<SingleFlightTable<LoadedKernel>, kNumResidencies> loaded_;

  std::atomic<bool> noted_unforced_ = false;
  std::atomic<bool> frozen_ = false;
  absl::Mutex publish_mutex_;
  absl::Mutex ops_mutex_;
  std::vector<std::weak_ptr<FfnOp>> ops_ ABSL_GUARDED_BY(ops_mutex_);
  CompilePool pool_;  // last: its threads use all of the above
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_ENGINE_H_
