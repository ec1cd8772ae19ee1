#include "tests/gpu/launch_fixture.h"

#include "src/base/status.h"

namespace fusebox {

void LaunchTest::SetUp() {
  GpuTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  const fusebox_engine_options options = EngineOptions();
  ASSERT_API_OK(engine_.Create(&options));
  MakeReady(engine_, Problem(), ready_);
}

FfnProblem LaunchTest::Problem(ResidualMode mode) {
  return {.hidden = DimK(520),
          .intermediate = DimN(1000),
          .activation = Activation::kRelu,
          .residual_mode = mode};
}

void LaunchTest::MakeReady(const api::Engine& engine, const FfnProblem& problem,
                           ReadyOp& ready) const {
  ready.values = reference::MakeSmallIntegerCase(problem, kTokens, 17);
  ready.expected = reference::ComputeReference(ready.values);
  ASSERT_TRUE(ready.expected.is_exact);
  ASSERT_OK_AND_ASSIGN(DeviceCase on_device, DeviceCase::Make(gpu(), ready.values));
  ready.on_device.emplace(std::move(on_device));
  ASSERT_API_OK(ready.op.CreateFfn(engine, ready.on_device->desc()));
  ASSERT_API_OK(ready.op.Prepare(&kTokens, 1, FUSEBOX_PREPARE_BLOCK));
  ASSERT_API_OK(ready.binding.BindFfn(ready.op, ready.on_device->weights()));
  ASSERT_API_OK(ready.op.WorkspaceSize(0, &ready.workspace_bytes));
}

absl::StatusOr<LaunchBuffers> LaunchTest::MakeBuffers(const ReadyOp& ready,
                                                      const RowPadding& padding) const {
  FUSEBOX_ASSIGN_OR_RETURN(
      LaunchBuffers buffers,
      LaunchBuffers::Make(gpu(), ready.values.problem, ready.workspace_bytes, padding));
  FUSEBOX_RETURN_IF_ERROR(ready.on_device->Load(buffers, kTokens));
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(
      ready.op.InitWorkspace(buffers.workspace().as<void>(), ready.workspace_bytes, gpu().stream())
          .code()));
  FUSEBOX_RETURN_IF_ERROR(gpu().Synchronize());
  return buffers;
}

std::string LaunchTest::Difference(const ReadyOp& ready, const LaunchBuffers& buffers) {
  const auto y = buffers.TakeOutput(kTokens);
  if (!y.ok()) return std::string(y.status().message());
  return reference::CompareExactly(ready.values, ready.expected, *y).failure;
}

}  // namespace fusebox
