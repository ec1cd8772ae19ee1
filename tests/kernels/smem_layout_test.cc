// Host and device must carve shared memory alike: src/plan/footprint.cc against
// kernels_templates/tile/ffn_smem.cuh, compared by the compiler that builds the kernels.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "src/plan/footprint.h"
#include "src/source/emit.h"
#include "tests/kernels/kernel_compiler.h"
#include "tests/kernels/plan_sample.h"
#include "tests/kernels/test_shapes.h"
#include "tests/plan/model_dims.h"
#include "tests/source/sample_plans.h"

namespace fusebox {
namespace {

constexpr size_t kPlansOfEach = 12;

// The generated `struct Plan { ... };` under another name.
std::string PlanStruct(const FusionPlan& plan, const std::string& name) {
  const std::string text = Emit(plan, TemplateSet::Embedded()).value().text;
  const size_t begin = text.find("struct Plan {");
  const size_t end = text.find("};", begin) + 2;
  std::string found = text.substr(begin, end - begin);
  return found.replace(0, sizeof("struct Plan") - 1, "struct " + name) + "\n";
}

std::string Assertions(const FusionPlan& plan, const std::string& name) {
  const Footprint host = FootprintOf(plan);
  const std::pair<const char*, int64_t> rows[] = {
      {"kRing", host.ring_offset},
      {"kSlotBytes", host.slot_bytes},
      {"kUpSlotBytes", UpSlotBytes(plan)},
      {"kDownSlotBytes", DownSlotBytes(plan)},
      {"kActivations", host.activation_offset},
      {"kActivationSlotBytes", host.activation_slot_bytes},
      {"kIntermediate", host.intermediate_offset},
      {"kExchange", host.exchange_offset},
      {"kExchangeBytes", host.exchange_bytes},
      {"kBarriers", host.barrier_offset},
      {"kNumBarriers * 8", host.barrier_bytes},
      {"kTotal", host.total_bytes},
      {"kUpTiles", UpTilesPerWarpgroup(plan)},
      {"kDownTiles", DownTilesPerWarpgroup(plan)},
      {"kChunkRows", plan.chunk_rows()},
      {"kSliceRows", plan.slice_rows()},
  };
  std::string text;
  for (const auto& [constant, expected] : rows) {
    absl::StrAppend(&text, "static_assert(fusebox::FfnSmem<", name, ">::", constant,
                    " == ", expected, ", \"", name, " ", constant, ": ", plan.Summary(), "\");\n");
  }
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
  for (size_t i = 0; i < problems.size(); ++i) {
    const int tile = kTokenTiles[i % kTokenTiles.size()];
    for (const FusionPlan& plan : Stratified(LegalPlans(problems[i], tile, device), kPlansOfEach)) {
      plans.push_back(plan);
    }
  }
  return plans;
}

TEST(SmemLayoutTest, DeviceConstantsEqualTheHostsFootprint) {
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
