// WarmRun makes pieces ready in the disk cache: plan, or take the plan that is given, write the
// sources of the plan and of the rest of its ladder, find each kernel, else compile and keep it.
// Invariant: after the first kernel that could not be kept nothing more is compiled in vain; NVRTC
// is looked for only once something is missing. Thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_WARM_RUN_H_
#define FUSEBOX_RUNTIME_TOOLS_WARM_RUN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/engine/kernel_service.h"
#include "runtime/engine/overrides.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/warm_list.h"
#include "src/device/device_spec.h"

namespace fusebox {

enum class WarmOutcome { kCompiled, kCached, kDeclined, kFailed, kMissing };
std::string_view ToString(
    WarmOutcome outcome);  // "compiled", "cached", "declined", "failed", "missing"

// A plan for GPUs that hold less than the profile says.
struct WarmRung {
  std::string plan;
  std::string digest;
  WarmOutcome outcome = WarmOutcome::kFailed;
  double compile_ms = 0;  // kCompiled only
};

struct WarmRow {
  WarmPiece piece;
  WarmOutcome outcome = WarmOutcome::kFailed;
  std::string sentence;  // why it was declined, failed or lacks something; empty where it is ready

  // Of a piece that was planned.
  std::string plan;
  std::string digest;
  double predicted_us = 0;
  double floor_us = 0;
  int64_t smem_bytes = 0;

  // Of a piece that is ready.
  double compile_ms = 0;  // kCompiled only
  KernelResources resources;

  std::vector<WarmRung> lower_rungs;  // those that are ready
};

class WarmRun {
 public:
  // All must outlive the run.
  WarmRun(const DeviceSpec& gpu, const PlanOverrides& overrides, KernelService* kernels)
      : gpu_(gpu), overrides_(overrides), kernels_(kernels) {}

  WarmRow MakeReady(const WarmPiece& piece) ABSL_LOCKS_EXCLUDED(mutex_);

  // MakeReady of each, on `jobs` threads; the rows are in the order of the pieces.
  std::vector<WarmRow> MakeAllReady(const std::vector<WarmPiece>& pieces, int jobs,
                                    Progress& progress);

 private:
  absl::Status Fill(const WarmPiece& piece, WarmRow& row) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<PlannedKernel>> KernelsOf(const WarmPiece& piece) const;
  absl::StatusOr<ServedKernel> MakeKept(const KernelSource& source) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckKept(const KernelSource& source, const CompiledKernel& kernel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Obstacle() const ABSL_LOCKS_EXCLUDED(mutex_);

  const DeviceSpec& gpu_;
  const PlanOverrides& overrides_;
  KernelService* const kernels_;
  mutable absl::Mutex mutex_;
  absl::Status obstacle_ ABSL_GUARDED_BY(mutex_);  // why compiling more would be in vain
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_WARM_RUN_H_
