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
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/tools/device_buffer.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/launch_buffers.h"
#include "runtime/tools/measure_kernels.h"
#include "runtime/tools/op_options.h"
#include "runtime/tools/verify_reference.h"
#include "src/device/device_spec.h"

namespace fusebox {

enum class VerifyOutcome { kRight, kWrong, kDeclined, kFailed, kMissing };
std::string_view ToString(VerifyOutcome outcome);  // "right", "WRONG", "declined", "FAILED", ...

struct VerifyRow {
  std::string model;
  std::string op;
  int64_t tensor_parallel = 1;
  int64_t tokens = 0;
  std::string plan;  // its summary
  VerifyOutcome outcome = VerifyOutcome::kFailed;
  double worst_ratio = 0;  // error over its bound
  std::string sentence;    // what is wrong, or why it was declined; empty where it is right
};

class VerifyRun {
 public:
  using RowSink = std::function<void(const VerifyRow&)>;

  // `gpu`: the profile that plans past the API are made for.
  VerifyRun(GpuSession* session, const MeasureKernels* kernels, const api::Engine* engine,
            const DeviceSpec& gpu)
      : session_(session), kernels_(kernels), engine_(engine), gpu_(gpu) {}

  // A row for each token count, in order; `sink` sees each as soon as it is there.
  void Verify(const OpToRun& op, const RowSink& sink);

 private:
  struct Subject;   // an op, bound to a layer, with the oracle of its problem
  struct Launcher;  // how it is launched for one token count
  absl::StatusOr<Subject> Prepare(const OpToRun& op);
  absl::StatusOr<Launcher> LauncherThroughApi(const Subject& subject, int64_t tokens) const;
  absl::StatusOr<Launcher> LauncherOfPlan(const Subject& subject, int64_t tokens) const;
  absl::Status VerifyTokens(const Subject& subject, int64_t tokens, VerifyRow& row);
  // `y`, and what the launch left in residual_out.
  static absl::Status Judge(const DeviceExpectation& expected, const std::vector<uint16_t>& y,
                            const fusebox_ffn_args& args, const LaunchBuffers& buffers,
                            VerifyRow& row);

  GpuSession* const session_;
  const MeasureKernels* const kernels_;
  const api::Engine* const engine_;
  const DeviceSpec gpu_;
};

// What an op says about its plan for a token count; empty and 0 where there is none.
struct PlanGlance {
  std::string summary;
  double predicted_us = 0;
};
PlanGlance GlanceAtPlan(const api::Op& op, int64_t tokens);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_RUN_H_
