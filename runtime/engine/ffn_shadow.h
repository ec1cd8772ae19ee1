// FfnShadow compares launches of an op with the slow oracle on the device (FUSEBOX_SHADOW), on the
// caller's stream: the oracle in front of the kernel, while in-place residuals are still what they
// were, and the comparison behind it. Nobody waits for either: the report comes to host memory and
// is read at the next launch that is due, by an idle background thread, when statistics are asked
// for, or at the end. One launch at a time; a launch that finds the memory taken, or is being
// captured, is not compared. After a failure it says so once and compares nothing more.
// Invariant: allocates nothing after Make. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_SHADOW_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_SHADOW_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels_templates/abi/kernel_params.h"
#include "runtime/driver/handles.h"
#include "runtime/launch/ffn_operands.h"
#include "runtime/launch/reference_kernels.h"

namespace fusebox {

class Engine;
struct FfnSpec;
struct PlannedKernel;

class FfnShadow {
 public:
  // Loads or compiles the oracle and takes its memory, for up to the op's max_tokens. The engine
  // outlives it.
  static absl::StatusOr<std::unique_ptr<FfnShadow>> Make(Engine& engine, const FfnSpec& spec);
  ~FfnShadow();  // waits for a comparison under way
  FfnShadow(const FfnShadow&) = delete;
  FfnShadow& operator=(const FfnShadow&) = delete;

  // In front of the kernel; `weights` is without rows, which `params` names. False: this launch is
  // not compared, and End must not follow. REQUIRES: params.tokens >= 1.
  bool Begin(const FfnOperandViews& weights, const FfnParams& params, CUstream stream);
  // Behind the kernel. `planned` is the kernel's and lives as long as the op.
  void End(CUresult launched, const PlannedKernel& planned, const FfnParams& params,
           CUstream stream);

  // Counts and logs a comparison that has finished.
  void Collect();

 private:
  enum class State { kIdle, kTaken, kInFlight, kOff };

  FfnShadow(Engine& engine, const FfnSpec& spec);
  absl::Status Open(const FfnSpec& spec);
  bool IsCapturing(CUstream stream) const;
  void GiveUp(std::string_view call, CUresult result);
  void Tell(const ReferenceReport& report) const;
  MatrixView RowsAt(const void* data, int64_t stride) const;

  Engine& engine_;
  const FfnProblem problem_;
  std::unique_ptr<const ReferenceKernels> kernels_;
  UniqueMemory memory_;
  UniqueHostMemory report_memory_;
  UniqueEvent finished_;  // of the last comparison
  ReferenceMemory at_;
  ReferenceReport* report_ = nullptr;

  std::atomic<State> state_ = State::kIdle;
  // Of the launch that took the memory; whoever holds kTaken may touch them.
  uint64_t sequence_ = 0;
  int64_t tokens_ = 0;
  const PlannedKernel* planned_ = nullptr;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_SHADOW_H_
