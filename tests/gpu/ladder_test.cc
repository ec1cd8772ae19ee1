// A profile that promises more than the GPU holds, on a GPU: every rung of a ladder gives the
// oracle's results, and so does a kernel whose clusters follow each other in waves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/engine/handles.h"
#include "runtime/tools/forced_kernel.h"
#include "src/device/device_profiles.h"
#include "src/plan/search.h"
#include "tests/gpu/launch_fixture.h"

namespace fusebox {
namespace {

using testing::HasSubstr;

// The real driver, but for a GPU that seems to hold fewer CTAs at once than it does.
std::shared_ptr<const DriverApi> real_driver;
int held_ctas = 0;

CUresult CountFewerClusters(int* count, CUfunction function, const CUlaunchConfig* config) {
  const CUresult result = real_driver->OccupancyMaxActiveClusters(count, function, config);
  for (unsigned int i = 0; result == CUDA_SUCCESS && i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    *count = std::min(*count, held_ctas / static_cast<int>(config->attrs[i].value.clusterDim.x));
  }
  return result;
}

class SmallerGpuEngine : public api::Engine {
 public:
  absl::Status CreateOn(const EngineSettings& settings) {
    auto api = std::make_shared<DriverApi>(*real_driver);
    api->OccupancyMaxActiveClusters = CountFewerClusters;
    auto engine = fusebox::Engine::Create(settings, [&] { return api; });
    if (!engine.ok()) return engine.status();
    return ApiStatus(Take([&](fusebox_engine** out) {
                       *out = new fusebox_engine{*std::move(engine)};
                       return api::Status(FUSEBOX_OK);
                     }).code());
  }
};

class GpuLadderTest : public LaunchTest {
 protected:
  void SetUp() override {
    LaunchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    real_driver = gpu().shared_api();
    auto config = ReadConfig(fusebox::Environment::OfProcess());
    ASSERT_TRUE(config.ok()) << config.status();
    settings_.config = *std::move(config);
    settings_.config.cache_dirs = {cache_dir()};
    settings_.config.compile_mode = CompileMode::kBlock;
    settings_.config.decline_slower = false;
  }

  // Clusters of the portable sizes, twice as many as the profile has.
  static DeviceSpec TwiceTheGpu(const DeviceSpec& device) {
    DeviceSpec twice = device;
    for (ClusterCapacity& cluster : twice.clusters) {
      cluster.resident_ctas =
          cluster.cluster_size > kPortableClusterSize ? 0 : 2 * cluster.resident_ctas;
    }
    return twice;
  }

  EngineSettings settings_;
};

TEST_F(GpuLadderTest, EveryRungGivesTheOraclesResults) {
  const FfnOp& planned = *ready_.op.get()->ffn;
  const size_t tile = TileIndexFor(kTokens);
  ASSERT_EQ(planned.NumRungs(tile), kMaxRungs);
  for (size_t rung = 0; rung < planned.NumRungs(tile); ++rung) {
    SCOPED_TRACE(planned.Planned(tile, rung).report.best.plan.Summary());
    const PlannedKernel& kernel = planned.Planned(tile, rung);
    const FusionPlan& plan = kernel.report.best.plan;
    held_ctas = ClustersNeeded(plan, kernel.residency) * plan.cluster_size;
    SmallerGpuEngine engine;
    ASSERT_STATUS_OK(engine.CreateOn(settings_));
    ReadyOp ready;
    MakeReady(engine, Problem(), ready);
    if (HasFatalFailure()) return;
    ASSERT_NE(ready.op.get()->ffn->Ready(tile), nullptr);
    EXPECT_EQ(ready.op.get()->ffn->Ready(tile)->rung, rung);
    ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready));
    for (int i = 0; i < 20; ++i) {
      ASSERT_API_OK(
          ready.binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()));
    }
    ASSERT_STATUS_OK(gpu().Synchronize());
    EXPECT_EQ(Difference(ready, buffers), "");
  }
}

TEST_F(GpuLadderTest, AGpuThatHoldsNoClusterDeclinesTheOp) {
  held_ctas = 0;
  SmallerGpuEngine engine;
  ASSERT_STATUS_OK(engine.CreateOn(settings_));
  api::Op op;
  ASSERT_API_OK(op.CreateFfn(engine, ready_.on_device->desc()));
  EXPECT_EQ(op.Prepare(&kTokens, 1, FUSEBOX_PREPARE_BLOCK).code(), FUSEBOX_DECLINED);
  EXPECT_THAT(api::LastErrorMessage(), HasSubstr("co_resident: none of the "));
  api::Binding binding;
  ASSERT_API_OK(binding.BindFfn(op, ready_.on_device->weights()));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers, MakeBuffers(ready_));
  EXPECT_EQ(binding.LaunchFfn(buffers.Args(kTokens, ResidualMode::kNone), gpu().stream()).code(),
            FUSEBOX_DECLINED);
}

// With the real driver's own count: a plan of more clusters than the GPU holds at once.
TEST_F(GpuLadderTest, ClustersInWavesGiveTheOraclesResults) {
  const FfnProblem problem = {
      .hidden = DimK(520), .intermediate = DimN(4096), .activation = Activation::kRelu};
  const int more_than_resident = gpu().device().num_sms + 8;
  const DeviceSpec twice = TwiceTheGpu(FindDeviceProfile("h200-sxm").value());
  const auto in_waves = [&](const FusionPlan& plan) {
    return plan.grid_ctas() > more_than_resident && plan.combine_patience_cycles == 0 &&
           plan.edge_scope != Scope::kGrid;
  };
  ASSERT_OK_AND_ASSIGN(const SearchReport report, Search(problem, 8, twice, {.admits = in_waves}));
  const FusionPlan& plan = report.best.plan;
  SCOPED_TRACE(plan.Summary());
  const auto whole = ForcedKernel::Make(gpu(), plan);
  EXPECT_TRUE(IsDeclined(whole.status())) << whole.status();
  EXPECT_THAT(std::string(whole.status().message()), HasSubstr("co_resident: "));

  ASSERT_OK_AND_ASSIGN(
      const ForcedKernel kernel,
      ForcedKernel::Make(gpu(), plan, {}, TemplateSet::Embedded(), Residency::kOneCluster));
  ASSERT_LT(kernel.loaded().max_active_clusters(), plan.num_clusters);
  const reference::FfnCase values = reference::MakeSmallIntegerCase(problem, kTokens, 23);
  const reference::FfnReference expected = reference::ComputeReference(values);
  ASSERT_TRUE(expected.is_exact);
  ASSERT_OK_AND_ASSIGN(const DeviceCase on_device, DeviceCase::Make(gpu(), values));
  ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers,
                       LaunchBuffers::Make(gpu(), problem, kernel.workspace_bytes()));
  ASSERT_STATUS_OK(on_device.Load(buffers, kTokens));
  ASSERT_STATUS_OK(buffers.InitWorkspaceByHand());
  FfnOperandViews views = on_device.views();
  views.x = buffers.x().View(kTokens);
  views.residual = buffers.residual().View(kTokens);
  ASSERT_OK_AND_ASSIGN(const FfnParams params, kernel.Params(views, buffers));
  for (int i = 0; i < 50; ++i) {
    ASSERT_STATUS_OK(kernel.Launch(params, ProgrammaticOverlap::kAllowed, gpu().stream()));
  }
  ASSERT_STATUS_OK(gpu().Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::vector<uint16_t> y, buffers.TakeOutput(kTokens));
  EXPECT_EQ(reference::CompareExactly(values, expected, y).failure, "");
}

}  // namespace
}  // namespace fusebox
