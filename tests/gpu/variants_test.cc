// Every variant of `fusebox verify --variants` on small dims with tails, against the device oracle,
// at token counts around every tile. VerifyRun poisons, guards and judges.
#include <gtest/gtest.h>

#include "runtime/tools/verify_run.h"
#include "runtime/tools/verify_variants.h"
#include "src/device/device_profiles.h"
#include "tests/gpu/gpu_fixture.h"

namespace fusebox {
namespace {

constexpr int kJobs = 8;

class VariantsTest : public GpuTest {};

TEST_F(VariantsTest, EveryVariantEqualsTheDeviceOracle) {
  fusebox_engine_options options = EngineOptions();
  options.device_profile = "h200-sxm";
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(gpu()));
  const DeviceSpec profile = FindDeviceProfile("h200-sxm").value();
  VerifyRun run(&gpu(), &kernels, profile, /*repeat=*/2);
  for (const auto& [hidden, intermediate] :
       {std::pair(96, 360), std::pair(360, 720), std::pair(720, 360)}) {
    const FfnProblem dims = {.hidden = DimK(hidden), .intermediate = DimN(intermediate)};
    const std::vector<OpToVerify> ops =
        EachOnce(WithVariants({{.tokens = TokensToVerify(), .problem = dims}}));
    std::vector<WarmedOp> warmed = WarmForVerify({.engine = &engine,
                                                  .service = &gpu().kernels(),
                                                  .permission = gpu().permission(),
                                                  .gpu = profile,
                                                  .overrides = &gpu().overrides()},
                                                 ops, kJobs);
    double worst_ratio = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      run.Verify(ops[i], std::move(warmed[i]), [&](const VerifyRow& row) {
        EXPECT_EQ(row.outcome, VerifyOutcome::kRight)
            << row.op << " M " << row.tokens << ": " << row.sentence << "\n"
            << row.plan;
        worst_ratio = std::max(worst_ratio, row.worst_ratio);
      });
    }
    std::printf("note variants of %dx%d: worst error/bound %.3f\n", hidden, intermediate,
                worst_ratio);
  }
}

}  // namespace
}  // namespace fusebox
