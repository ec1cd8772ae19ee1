#include "src/source/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/plan/footprint.h"
#include "src/plan/legality.h"
#include "src/source/emit_measure.h"
#include "src/source/emit_reference.h"
#include "tests/plan/some_plan.h"
#include "tests/reference/variant_problems.h"
#include "tests/source/sample_plans.h"

namespace fusebox {
namespace {

using testing::HasSubstr;
using testing::Not;

KernelSource EmitOf(const FusionPlan& plan, const EmitOptions& options = {}) {
  return Emit(plan, TemplateSet::Embedded(), options).value();
}

TEST(EmitTest, SamplePlansAreLegal) {
  for (const auto& [name, plan] : SamplePlans()) {
    EXPECT_TRUE(CheckLegal(plan, H200()).ok()) << name << ": " << CheckLegal(plan, H200());
  }
}

TEST(EmitTest, TextIsUnderSixtyLinesAndWithoutPlaceholders) {
  for (const auto& [name, plan] : SamplePlans()) {
    const KernelSource source = EmitOf(plan);
    EXPECT_LT(std::count(source.text.begin(), source.text.end(), '\n'), 60) << name;
    EXPECT_THAT(source.text, Not(HasSubstr("${"))) << name;
  }
}

TEST(EmitTest, EveryVariantIsItsOwnKernelUnderSixtyLines) {
  FusionPlan plan = SamplePlans()[0].plan;
  std::set<std::string> digests;
  for (const FfnProblem& problem : VariantProblems(4096, 11008)) {
    plan.problem = problem;
    const KernelSource source = EmitOf(plan);
    EXPECT_LT(std::count(source.text.begin(), source.text.end(), '\n'), 60) << source.name;
    EXPECT_THAT(source.text, Not(HasSubstr("unknown"))) << source.name;
    EXPECT_EQ(source.name, problem.Name() + "_t8");
    EXPECT_TRUE(digests.insert(source.Digest().ToHex()).second) << source.name;
  }
}

TEST(EmitTest, TextNamesTheVariantInConstantsAndArguments) {
  FusionPlan plan = SamplePlans()[0].plan;
  plan.problem = {.hidden = DimK(4096),
                  .intermediate = DimN(11008),
                  .dtype = DType::kFp16,
                  .activation = Activation::kReluSquared,
                  .residual_mode = ResidualMode::kAddBeforeNorm,
                  .norm = Norm::kRmsPlusOne,
                  .rounding = Rounding::kFused,
                  .up_bias = true,
                  .down_bias = true};
  const std::string text = EmitOf(plan).text;
  for (const char* part :
       {"--form gated --dtype fp16 --norm rms_plus_one --residual add_before_norm --bias both "
        "--rounding fused --tokens 8\n",
        "kActivation = fusebox::Activation::kReluSquared;", "kDType = fusebox::DType::kFp16;",
        "kRounding = fusebox::Rounding::kFused;", "kUpBias = true;", "kDownBias = true;",
        "kNorm = fusebox::Norm::kRmsPlusOne;",
        "kResidualMode = fusebox::ResidualMode::kAddBeforeNorm;"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(EmitTest, TextBeginsWithThePlanAndHowToReproduceIt) {
  const FusionPlan plan = SamplePlans()[0].plan;
  EXPECT_THAT(
      EmitOf(plan).text,
      testing::StartsWith("// Fusebox kernel ffn_gated_silu_bf16_h4096_i11008_t8\n// plan " +
                          plan.PlanFingerprint().ToHex() + ": " + plan.Summary() +
                          "\n// reproduce: fusebox plan --hidden 4096 --intermediate 11008 "));
}

TEST(EmitTest, LaunchShapeAndWorkspaceAreThePlans) {
  for (const auto& [name, plan] : SamplePlans()) {
    const KernelSource source = EmitOf(plan);
    EXPECT_EQ(source.launch.grid_ctas, plan.grid_ctas()) << name;
    EXPECT_EQ(source.launch.cluster_size, plan.cluster_size) << name;
    EXPECT_EQ(source.launch.threads, plan.threads()) << name;
    EXPECT_EQ(source.launch.dynamic_smem_bytes, FootprintOf(plan).total_bytes) << name;
    EXPECT_EQ(source.workspace_bytes, WorkspaceBytes(plan)) << name;
    EXPECT_EQ(source.plan_json, plan.ToJson()) << name;
  }
}

TEST(EmitTest, IsDeterministic) {
  const FusionPlan plan = SamplePlans()[1].plan;
  EXPECT_EQ(EmitOf(plan).text, EmitOf(plan).text);
  EXPECT_EQ(EmitOf(plan).Digest().ToHex(), EmitOf(plan).Digest().ToHex());
}

TEST(EmitTest, HeadersAreThoseThatTheTextIncludes) {
  const KernelSource source = EmitOf(SamplePlans()[0].plan);
  EXPECT_TRUE(source.headers.files().contains("kernels_templates/kernels/ffn.cuh"));
  EXPECT_TRUE(source.headers.files().contains("kernels_templates/abi/kernel_params.h"));
  for (const auto& [path, text] : source.headers.files()) {
    EXPECT_THAT(path, Not(HasSubstr("reference"))) << "the oracle would share the kernel's digest";
    EXPECT_THAT(path, Not(HasSubstr(".cu.in")));
  }
}

TEST(EmitTest, DigestChangesWithEveryPartOfTheSource) {
  const KernelSource source = EmitOf(SamplePlans()[0].plan);
  std::set<std::string> digests = {source.Digest().ToHex()};
  const auto expect_new = [&](const KernelSource& changed, const std::string& what) {
    EXPECT_TRUE(digests.insert(changed.Digest().ToHex()).second) << what;
  };
  KernelSource changed = source;
  changed.text += " ";
  expect_new(changed, "text");
  changed = source;
  changed.flags.push_back("--use_fast_math");
  expect_new(changed, "flag");
  changed = source;
  changed.flags.pop_back();
  expect_new(changed, "flag left out");
  changed = source;
  changed.architecture = "sm_90";
  expect_new(changed, "architecture");
  changed = source;
  changed.entry = "another";
  expect_new(changed, "entry");
  for (const auto& [path, text] : source.headers.files()) {
    std::map<std::string, std::string> files = source.headers.files();
    files[path] += " ";
    changed = source;
    changed.headers = TemplateSet::FromFiles(files);
    expect_new(changed, path);
    files.erase(path);
    changed.headers = TemplateSet::FromFiles(files);
    expect_new(changed, path + " left out");
  }
}

TEST(EmitTest, DigestChangesWithNothingElse) {
  const KernelSource source = EmitOf(SamplePlans()[0].plan);
  KernelSource changed = source;  // what the text already fixes, or what only people read
  changed.name = "another";
  changed.plan_json = "{}";
  changed.launch.grid_ctas = 1;
  changed.workspace_bytes = 1;
  EXPECT_EQ(changed.Digest().ToHex(), source.Digest().ToHex());
  std::map<std::string, std::string> files = TemplateSet::Embedded().files();
  files["kernels_templates/kernels/ffn_reference.cuh"] += " ";
  EXPECT_EQ(Emit(SamplePlans()[0].plan, TemplateSet::FromFiles(files)).value().Digest().ToHex(),
            source.Digest().ToHex());
}

TEST(EmitTest, DebugBuildsAreKernelsOfTheirOwn) {
  const FusionPlan plan = SamplePlans()[0].plan;
  const std::string plain = EmitOf(plan).Digest().ToHex();
  const std::string bounded = EmitOf(plan, {.bounded_spins = true}).Digest().ToHex();
  const std::string jitter = EmitOf(plan, {.jitter_seed = 1}).Digest().ToHex();
  EXPECT_NE(plain, bounded);
  EXPECT_NE(plain, jitter);
  EXPECT_NE(bounded, jitter);
}

TEST(EmitTest, ReferenceAndMeasureHaveTheEntriesTheyPromise) {
  const KernelSource reference =
      EmitReference(SamplePlans()[2].plan.problem, TemplateSet::Embedded()).value();
  for (const char* entry : {kReferenceRowsEntry, kReferenceIntermediateEntry, kReferenceOutputEntry,
                            kReferenceSecondNormEntry, kReferenceCompareEntry}) {
    EXPECT_THAT(reference.text, HasSubstr(entry));
  }
  EXPECT_THAT(reference.text, HasSubstr("ReferenceResidual::kAddAfter"));
  const KernelSource measure = EmitMeasure(TemplateSet::Embedded()).value();
  for (const char* entry : {kFillUniformEntry, kReadStreamEntry, kScaleInPlaceEntry}) {
    EXPECT_THAT(measure.text, HasSubstr(entry));
  }
}

}  // namespace
}  // namespace fusebox
