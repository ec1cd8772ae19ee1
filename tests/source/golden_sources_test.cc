// Generated sources as review material: a change of the entry template or of what is filled in
// shows as a diff of tests/golden/sources. Update: golden_sources_test --update.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "src/source/emit.h"
#include "src/source/emit_reference.h"
#include "tests/source/sample_plans.h"

namespace fusebox {
namespace {

enum class GoldenMode { kCompare, kUpdate };
GoldenMode golden_mode = GoldenMode::kCompare;

void CompareOrUpdate(const std::string& name, const std::string& text) {
  const std::string path = "tests/golden/sources/" + name + ".cu";
  if (golden_mode == GoldenMode::kUpdate) {
    std::ofstream(path) << text;
    return;
  }
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path << "; if meant, run golden_sources_test --update";
}

TEST(GoldenSourcesTest, KernelsAreTheCommittedOnes) {
  for (const auto& [name, plan] : SamplePlans()) {
    CompareOrUpdate(name, Emit(plan, TemplateSet::Embedded()).value().text);
  }
}

TEST(GoldenSourcesTest, OracleIsTheCommittedOne) {
  const FfnProblem problem = SamplePlans()[2].plan.problem;
  CompareOrUpdate("reference_gated_relu_add_after",
                  EmitReference(problem, TemplateSet::Embedded()).value().text);
}

}  // namespace
}  // namespace fusebox

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--update")
      fusebox::golden_mode = fusebox::GoldenMode::kUpdate;
  }
  return RUN_ALL_TESTS();
}
