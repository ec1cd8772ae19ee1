// VerifyRun runs ops on a GPU and judges every output by the device oracle: y, residual_out and the
// workspace's partial sums and rows poisoned with NaN first, rows of x beyond M and the padding
// between rows NaN, guard bytes around all, row strides above the width. Ops go through the public
// C API; those with Rounding::kFused, which it does not serve, past it. Mode add_before_norm runs
// twice, into a buffer of its own and in place, with the same bits.
// REQUIRES: the session and the engine outlive it. Not thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_RUN_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/tools/launch_buffers.h"
#include "runtime/tools/measure_kernels.h"
#include "runtime/tools/verify_list.h"
#include "runtime/tools/verify_reference.h"
#include "runtime/tools/verify_report.h"
#include "src/device/device_spec.h"

namespace fusebox {

class VerifyRun {
 public:
  using RowSink = std::function<void(const VerifyRow&)>;

  // `gpu`: the profile that plans past the API are made for. `repeat`: launches of each case.
  VerifyRun(GpuSession* session, const MeasureKernels* kernels, const DeviceSpec& gpu,
            int repeat = 1)
      : session_(session), kernels_(kernels), gpu_(gpu), repeat_(repeat) {}

  // A row for each token count, in order; `sink` sees each as soon as it is there.
  void Verify(const OpToVerify& to_verify, WarmedOp warmed, const RowSink& sink);

 private:
  struct Subject;   // an op, bound to a layer, with the oracle of its problem
  struct Launcher;  // how it is launched for one token count
  absl::StatusOr<Subject> Prepare(const OpToRun& op, WarmedOp warmed) const;
  absl::StatusOr<Launcher> LauncherThroughApi(const Subject& subject, int64_t tokens) const;
  absl::StatusOr<Launcher> LauncherOfPlan(Subject& subject, int64_t tokens) const;
  // With room for the launcher's workspace; odd token counts run packed, even ones with padding.
  absl::StatusOr<const LaunchBuffers*> BuffersFor(Subject& subject, int64_t tokens,
                                                  size_t workspace_bytes) const;
  absl::Status FillRows(const FfnOperandViews& views) const;
  absl::Status VerifyTokens(Subject& subject, int64_t tokens, VerifyRow& row) const;
  // `y`, and what the launch left in residual_out.
  static absl::Status Judge(const DeviceExpectation& expected, const std::vector<uint16_t>& y,
                            const fusebox_ffn_args& args, const LaunchBuffers& buffers,
                            VerifyRow& row);

  GpuSession* const session_;
  const MeasureKernels* const kernels_;
  const DeviceSpec gpu_;
  const int repeat_;
};

// What an op says about its plan for a token count; empty and 0 where there is none.
struct PlanGlance {
  std::string summary;
  std::string dataflow;  // "dsm_gather"
  double predicted_us = 0;
};
PlanGlance GlanceAtPlan(const api::Op& op, int64_t tokens);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_RUN_H_
