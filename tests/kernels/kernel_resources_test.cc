// Every kernel that the models and the GPU tests need compiles without spills, local memory, and
// without the ptxas warnings that mean a lost pipeline: C7508 (setmaxnreg ignored), C7510, C7519
// and C7520 (wgmma serialised).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "src/plan/search.h"
#include "src/source/emit.h"
#include "src/source/emit_measure.h"
#include "src/source/emit_reference.h"
#include "tests/kernels/kernel_compiler.h"
#include "tests/kernels/plan_sample.h"
#include "tests/kernels/test_shapes.h"
#include "tests/plan/model_dims.h"
#include "tests/reference/variant_problems.h"

namespace fusebox {
namespace {

constexpr int kThreads = 2;

std::string WhatIsWrong(const absl::StatusOr<CompiledKernel>& compiled) {
  if (!compiled.ok()) return std::string(compiled.status().message());
  if (compiled->resources.Spills()) return "spills or uses local memory: " + compiled->log;
  for (const char* warning : {"C7508", "C7510", "C7519", "C7520"}) {
    if (compiled->log.find(warning) != std::string::npos) return warning + (": " + compiled->log);
  }
  return "";
}

// Compiles all; reports each that is not as it should be, and the median time.
void ExpectClean(const std::vector<KernelSource>& sources) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::vector<double> milliseconds;
  const auto work = [&] {
    for (size_t i = next++; i < sources.size(); i = next++) {
      const auto compiled = TestCompiler().Compile(sources[i]);
      const std::string wrong = WhatIsWrong(compiled);
      const std::lock_guard lock(mutex);
      EXPECT_EQ(wrong, "") << sources[i].name << "\n" << sources[i].plan_json;
      if (compiled.ok()) milliseconds.push_back(compiled->milliseconds);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::sort(milliseconds.begin(), milliseconds.end());
  if (milliseconds.empty()) return;
  std::cout << milliseconds.size() << " kernels, median " << milliseconds[milliseconds.size() / 2]
            << " ms in NVRTC, " << kThreads << " at once\n";
}

DeviceSpec H200() { return FindDeviceProfile("h200-sxm").value(); }

KernelSource SourceOf(const FusionPlan& plan, const EmitOptions& options = {}) {
  return Emit(plan, TemplateSet::Embedded(), options).value();
}

TEST(KernelResourcesTest, KernelsOfAllModelsAreClean) {
  std::vector<KernelSource> sources;
  std::set<FusionPlan> seen;  // two models have the same dims
  for (const ModelDims& model : AllModels()) {
    for (const int tensor_parallel : {1, 2, 4, 8}) {
      for (const int tile : kTokenTiles) {
        const auto report = Search(ProblemOf(model, tensor_parallel), tile, H200());
        if (report.ok() && seen.insert(report->best.plan).second) {
          sources.push_back(SourceOf(report->best.plan));
        }
      }
    }
  }
  ASSERT_GE(sources.size(), (AllModels().size() - 1) * kTokenTiles.size());
  ExpectClean(sources);
}

TEST(KernelResourcesTest, KernelsOfTheTestShapesAreClean) {
  std::vector<KernelSource> sources;
  for (const FfnProblem& problem : ReluProblems()) {
    for (const int tile : kTokenTiles) {
      sources.push_back(SourceOf(Search(problem, tile, H200()).value().best.plan));
    }
  }
  for (const FfnProblem& problem : ActivationProblems(520, 1000)) {
    sources.push_back(SourceOf(Search(problem, 16, H200()).value().best.plan));
  }
  ExpectClean(sources);
}

TEST(KernelResourcesTest, LegalPlansOfEveryKindAreClean) {
  std::vector<KernelSource> sources;
  for (const FfnProblem& problem : ActivationProblems(1024, 3072)) {
    for (const int tile : kTokenTiles) {
      for (const FusionPlan& plan : Stratified(LegalPlans(problem, tile, H200()), 4)) {
        sources.push_back(SourceOf(plan));
      }
    }
  }
  ExpectClean(sources);
}

// With 128 tokens a thread's sums take most of its registers, and eight CTAs that split k have the
// most addresses beside them: kernels of that kind spilled on the dims of two models alone.
TEST(KernelResourcesTest, EveryKindOfPlanIsCleanOnTheModelsDims) {
  std::vector<KernelSource> sources;
  for (const ModelDims& model : AllModels()) {
    const std::vector<FusionPlan> plans = LegalPlans(ProblemOf(model, 1), 128, H200());
    for (const FusionPlan& plan : OneOfEachKind(plans)) sources.push_back(SourceOf(plan));
  }
  ExpectClean(sources);
}

// Each variant on one token tile, the plan that Search chooses and one of another kind.
TEST(KernelResourcesTest, KernelsOfEveryVariantAreClean) {
  std::vector<KernelSource> sources;
  for (const FfnProblem& problem : VariantProblems(1024, 3072)) {
    const int tile = kTokenTiles[sources.size() / 2 % kTokenTiles.size()];
    const FusionPlan best = Search(problem, tile, H200()).value().best.plan;
    sources.push_back(SourceOf(best));
    const std::vector<FusionPlan> plans = Stratified(LegalPlans(problem, tile, H200()), 40);
    sources.push_back(SourceOf(plans[sources.size() % plans.size()]));
  }
  ExpectClean(sources);
}

// The activation that needs the most registers, where sums leave the fewest: with 128 tokens a
// thread has 64 of each 64 rows. It spilled for fp16 alone, in plans that Search did not choose.
TEST(KernelResourcesTest, GeluNewHasRegistersBesideTheMostSums) {
  std::vector<KernelSource> sources;
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (const WeightLayout layout : {WeightLayout::kOutIn, WeightLayout::kInOut}) {
      const FfnProblem problem = {.hidden = DimK(1024),
                                  .intermediate = DimN(3072),
                                  .dtype = dtype,
                                  .activation = Activation::kGeluNew,
                                  .form = FfnForm::kPlain,
                                  .norm = Norm::kRms,
                                  .rounding = Rounding::kEngine,
                                  .layout = layout};
      std::vector<FusionPlan> plans = LegalPlans(problem, 128, H200());
      std::erase_if(plans, [](const FusionPlan& plan) {
        return plan.up.rows_per_pass * plan.up.k_warpgroups < 2 * 64 * plan.consumer_warpgroups;
      });
      ASSERT_FALSE(plans.empty());
      for (const FusionPlan& plan : Stratified(plans, 4)) sources.push_back(SourceOf(plan));
    }
  }
  ExpectClean(sources);
}

TEST(KernelResourcesTest, DebugBuildsAreCleanToo) {
  std::vector<FfnProblem> problems = ActivationProblems(520, 1000);
  const std::vector<FfnProblem> variants = VariantProblems(520, 1000);
  for (size_t i = 0; i < variants.size(); i += 8) problems.push_back(variants[i]);
  std::vector<KernelSource> sources;
  for (const FfnProblem& problem : problems) {
    const FusionPlan plan = Search(problem, 16, H200()).value().best.plan;
    sources.push_back(SourceOf(plan, {.bounded_spins = true, .jitter_seed = 1}));
  }
  ExpectClean(sources);
}

TEST(KernelResourcesTest, ToolKernelsCompile) {
  std::vector<KernelSource> sources = {EmitMeasure(TemplateSet::Embedded()).value()};
  for (const FfnProblem& problem : VariantProblems(64, 64)) {
    sources.push_back(EmitReference(problem, TemplateSet::Embedded()).value());
  }
  ExpectClean(sources);
}

}  // namespace
}  // namespace fusebox
