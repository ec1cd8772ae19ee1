// Host and device must carve shared memory and workspace alike: src/plan/footprint.cc against
// kernels_templates/tile/ffn_smem.cuh and ffn_workspace.cuh, compared by the compiler that builds
// the kernels.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/plan/footprint.h"
#include "src/source/emit.h"
#include "tests/kernels/kernel_compiler.h"
#include "tests/kernels/plan_sample.h"
#include "tests/kernels/test_shapes.h"
#include "tests/plan/model_dims.h"
#include "tests/reference/variant_problems.h"
#include "tests/source/sample_plans.h"

namespace fusebox {
namespace {

constexpr size_t kPlansOfEach = 12;
constexpr size_t kPlansOfEachVariant = 4;

// The generated `struct Plan { ... };` under another name.
std::string PlanStruct(const FusionPlan& plan, const std::string& name) {
  const std::string text = Emit(plan, TemplateSet::Embedded()).value().text;
  const size_t begin = text.find("struct Plan {");
  const size_t end = text.find("};", begin) + 2;
  std::string found = text.substr(begin, end - begin);
  return found.replace(0, sizeof("struct Plan") - 1, "struct " + name) + "\n";
}

using Constants =
    std::vector<std::pair<const char*, int64_t>>;  // the device's name, the host's value

Constants SmemConstants(const FusionPlan& plan) {
  const Footprint host = FootprintOf(plan);
  return {
      {"kRing", host.ring_offset},
      {"kSlotBytes", host.slot_bytes},
      {"Up::kSlotBytes", UpSlotBytes(plan)},
      {"Down::kSlotBytes", DownSlotBytes(plan)},
      {"kActivations", host.activation_offset},
      {"kActivationSlotBytes", host.activation_slot_bytes},
      {"kIntermediate", host.intermediate_offset},
      {"kExchange", host.exchange_offset},
      {"kExchangeBytes", host.exchange_bytes},
      {"kScratch", host.scratch_offset},
      {"kBarriers", host.barrier_offset},
      {"kNumBarriers * 8", host.barrier_bytes},
      {"kTotal", host.total_bytes},
      {"kReceivedBytes", ReceivedBytes(plan)},
      {"Up::kRowTiles", RowTilesOf(plan, plan.up)},
      {"Down::kRowTiles", RowTilesOf(plan, plan.down)},
      {"Up::kBlocks", BlocksOf(plan, plan.up)},
      {"Down::kBlocks", BlocksOf(plan, plan.down)},
      {"Up::kTiles", TilesPerWarpgroup(plan, plan.up)},
      {"Down::kTiles", TilesPerWarpgroup(plan, plan.down)},
      {"Up::kRowsPerCta", plan.up.rows_per_cta()},
      {"Down::kRowsPerCta", plan.down.rows_per_cta()},
      {"Up::kK", RoundUp(plan.problem.hidden.value(), plan.up.k_per_slot)},
      {"Down::kK", plan.gathers_over_grid() ? plan.down_k_part() : plan.down_k()},
  };
}

Constants WorkspaceConstants(const FusionPlan& plan) {
  return {
      {"kPartials", kWorkspaceHeaderBytes},
      {"kCounterBytes / 4 - kBlockCounters", kWorkspaceCounters},
      {"kGathered", GatheredRowsOffset(plan)},
      {"kNormalized", NormalizedRowsOffset(plan)},
      {"kTotal", WorkspaceBytes(plan)},
  };
}

std::string Assertions(const FusionPlan& plan, const std::string& name) {
  std::string text;
  const auto append = [&](const std::string& struct_name, const Constants& constants) {
    for (const auto& [constant, expected] : constants) {
      const std::string device = absl::StrReplaceAll(
          absl::StrCat("@", constant),
          {{"@", struct_name + "::"}, {"- ", absl::StrCat("- ", struct_name, "::")}});
      absl::StrAppend(&text, "static_assert(", device, " == ", expected, ", \"", name, " ",
                      constant, ": ", plan.Summary(), "\");\n");
    }
  };
  append(absl::StrCat("fusebox::FfnSmem<", name, ">"), SmemConstants(plan));
  append(absl::StrCat("fusebox::FfnWorkspace<", name, ">"), WorkspaceConstants(plan));
  return text;
}

KernelSource SourceOf(const std::string& body) {
  KernelSource source;
  source.name = "smem_layout";
  source.entry = "nothing";
  source.text = absl::StrCat("// layout\n#include \"kernels_templates/kernels/ffn.cuh\"\n", body,
                             "extern \"C\" __global__ void nothing() {}\n");
  source.architecture = "sm_90a";
  source.flags = {"--gpu-architecture=sm_90a", "--std=c++20",
                  "--device-as-default-execution-space"};
  source.headers = TemplateSet::Embedded().ReachableFrom(source.text).value();
  return source;
}

std::vector<FusionPlan> Spread() {
  const DeviceSpec device = FindDeviceProfile("h200-sxm").value();
  std::vector<FusionPlan> plans;
  for (const SamplePlan& sample : SamplePlans()) plans.push_back(sample.plan);
  std::vector<FfnProblem> problems = ReluProblems();
  for (const ModelDims& model : AllModels()) problems.push_back(ProblemOf(model, 1));
  const auto add = [&](const std::vector<FfnProblem>& some, size_t plans_of_each) {
    for (size_t i = 0; i < some.size(); ++i) {
      const int tile = kTokenTiles[i % kTokenTiles.size()];
      for (const FusionPlan& plan : Stratified(LegalPlans(some[i], tile, device), plans_of_each))
        plans.push_back(plan);
    }
  };
  add(problems, kPlansOfEach);
  add(VariantProblems(520, 1000), kPlansOfEachVariant);
  return plans;
}

TEST(SmemLayoutTest, DeviceConstantsEqualTheHostsFootprintAndWorkspace) {
  const std::vector<FusionPlan> plans = Spread();
  std::string body;
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::string name = absl::StrCat("Plan", i);
    body += PlanStruct(plans[i], name) + Assertions(plans[i], name);
  }
  const auto compiled = TestCompiler().Compile(SourceOf(body));
  EXPECT_TRUE(compiled.ok()) << compiled.status() << CompileFailureLog(compiled.status());
  std::cout << plans.size() << " plans compared\n";
}

TEST(SmemLayoutTest, AWrongConstantWouldShow) {
  const FusionPlan plan = SamplePlans()[0].plan;
  const auto compiled = TestCompiler().Compile(
      SourceOf(PlanStruct(plan, "Plan0") +
               absl::StrCat("static_assert(fusebox::FfnSmem<Plan0>::kTotal == ",
                            FootprintOf(plan).total_bytes + 8, ", \"off\");\n")));
  EXPECT_TRUE(IsCompileFailure(compiled.status())) << compiled.status();
}

}  // namespace
}  // namespace fusebox
