// The plans chosen for the models of the issue, as review material: a change of candidates, rules,
// cost terms or profile shows as a diff of tests/golden/plans. Update: golden_plans_test --update.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/plan/search.h"
#include "tests/plan/model_dims.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

enum class GoldenMode { kCompare, kUpdate };
GoldenMode golden_mode = GoldenMode::kCompare;

// One line a plan: {"tp":1,"us":64.55,"floor_us":59.03,"plan":{...}}
std::string PlansOf(const ModelDims& model) {
  const DeviceSpec device = H200();
  std::string lines;
  for (int tensor_parallel : {1, 2, 4, 8}) {
    for (int tile : kTokenTiles) {
      const SearchReport report = Search(ProblemOf(model, tensor_parallel), tile, device).value();
      absl::StrAppend(
          &lines, absl::StrFormat("{\"tp\":%d,\"us\":%.2f,\"floor_us\":%.2f,\"plan\":%s}\n",
                                  tensor_parallel, report.best.cost.us(), report.best.cost.floor_us,
                                  report.best.plan.ToJson()));
    }
  }
  return lines;
}

TEST(GoldenPlansTest, ChosenPlansAreTheCommittedOnes) {
  for (const ModelDims& model : AllModels()) {
    const std::string path = absl::StrCat("tests/golden/plans/h200-sxm--", model.name, ".jsonl");
    if (golden_mode == GoldenMode::kUpdate) {
      std::ofstream(path) << PlansOf(model);
      continue;
    }
    std::ostringstream golden;
    golden << std::ifstream(path).rdbuf();
    EXPECT_EQ(PlansOf(model), golden.str()) << path << "; if meant, run golden_plans_test --update";
  }
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
