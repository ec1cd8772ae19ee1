// Every variant of `fusebox verify --variants` on small dims with tails, against the device oracle,
// at token counts around every tile. VerifyRun poisons, guards and judges.
#include <gtest/gtest.h>

#include "runtime/tools/verify_run.h"
#include "runtime/tools/verify_variants.h"
#include "src/device/device_profiles.h"
#include "tests/gpu/gpu_fixture.h"

namespace fusebox {
namespace {

class VariantsTest : public GpuTest {
 protected:
  // Into the engine's cache, several at once.
  void PrepareAll(api::Engine& engine, const std::vector<OpToRun>& ops) const {
    std::vector<api::Op> prepared;
    for (const OpToRun& to_run : ops) {
      if (to_run.problem->rounding != Rounding::kEngine) continue;
      api::Op op;
      ASSERT_API_OK(op.CreateFfn(engine, DescOf(*to_run.problem)));
      const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
      ASSERT_API_OK(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BACKGROUND));
      prepared.push_back(std::move(op));
    }
    ASSERT_API_OK(engine.Wait());
  }
};

TEST_F(VariantsTest, EveryVariantEqualsTheDeviceOracle) {
  fusebox_engine_options options = EngineOptions();
  options.compile_threads = 8;
  options.device_profile = "h200-sxm";
  api::Engine engine;
  ASSERT_API_OK(engine.Create(&options));
  ASSERT_OK_AND_ASSIGN(const MeasureKernels kernels, MeasureKernels::Load(gpu()));
  VerifyRun run(&gpu(), &kernels, &engine, FindDeviceProfile("h200-sxm").value());
  for (const auto& [hidden, intermediate] :
       {std::pair(96, 360), std::pair(360, 720), std::pair(720, 360)}) {
    const FfnProblem dims = {.hidden = DimK(hidden), .intermediate = DimN(intermediate)};
    const std::vector<OpToRun> ops =
        WithVariants({{.tokens = {1, 7, 8, 9, 17, 32}, .problem = dims}});
    PrepareAll(engine, ops);
    if (HasFatalFailure()) return;
    double worst_ratio = 0;
    for (const OpToRun& op : ops) {
      run.Verify(op, [&](const VerifyRow& row) {
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
