// LaunchTest holds one small op on an engine, bound and ready, with its oracle: what tests of the
// launch's contract start from.
#ifndef FUSEBOX_TESTS_GPU_LAUNCH_FIXTURE_H_
#define FUSEBOX_TESTS_GPU_LAUNCH_FIXTURE_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/tools/ffn_layer.h"
#include "tests/gpu/device_case.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/reference/ffn_oracle.h"

namespace fusebox {

// An op on an engine with its weights, for cases whose oracle is exact.
struct ReadyOp {
  reference::FfnCase values;
  reference::FfnReference expected;
  std::optional<DeviceCase> on_device;  // points at `values`: a ReadyOp is not moved
  api::Op op;
  api::Binding binding;
  size_t workspace_bytes = 0;
};

class LaunchTest : public GpuTest {
 protected:
  static constexpr int32_t kTokens = 5;

  void SetUp() override;
  static FfnProblem Problem(ResidualMode mode = ResidualMode::kNone);
  // A small-integer case of `problem` with kTokens tokens, prepared on `engine`.
  void MakeReady(const api::Engine& engine, const FfnProblem& problem, ReadyOp& ready) const;
  // Buffers with the case's x and residual, and an initialised workspace.
  absl::StatusOr<LaunchBuffers> MakeBuffers(const ReadyOp& ready,
                                            const RowPadding& padding = {}) const;
  // Empty, or what differs from the oracle.
  static std::string Difference(const ReadyOp& ready, const LaunchBuffers& buffers);

  api::Engine engine_;
  ReadyOp ready_;  // Problem()
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_GPU_LAUNCH_FIXTURE_H_
