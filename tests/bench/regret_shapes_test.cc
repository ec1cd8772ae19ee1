// What the regret bench times must tell something about ops that the cost model has never met.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/tools/model_options.h"
#include "runtime/tools/shape_file.h"

namespace fusebox {
namespace {

using Dims = std::pair<int64_t, int64_t>;  // hidden, intermediate

Dims DimsOf(const FfnProblem& problem) {
  return {problem.hidden.value(), problem.intermediate.value()};
}

std::vector<NamedShape> RegretShapes() { return ReadShapeFile("bench/regret/shapes.json").value(); }

// Of every measurement that a constant, a rule or a preference was taken from.
std::set<Dims> FittedDims() {
  std::set<Dims> dims;
  for (const char* path : {"tests/plan/measured_plans.jsonl", "tests/plan/measured_tiles.jsonl"}) {
    std::ifstream file(path);
    size_t num_plans = 0;
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.contains("plan")) continue;  // the head
      const nlohmann::json& problem = json["plan"]["problem"];
      dims.emplace(problem["hidden"].get<int64_t>(), problem["intermediate"].get<int64_t>());
      ++num_plans;
    }
    EXPECT_GT(num_plans, 400u) << path;
  }
  return dims;
}

TEST(RegretShapesTest, NoneTookPartInTheFit) {
  const std::set<Dims> fitted = FittedDims();
  for (const NamedShape& shape : RegretShapes()) {
    EXPECT_FALSE(fitted.contains(DimsOf(shape.problem))) << shape.name;
  }
}

TEST(RegretShapesTest, ThereAreSixteenOrMoreDifferentOnes) {
  std::set<Dims> dims;
  for (const NamedShape& shape : RegretShapes()) dims.insert(DimsOf(shape.problem));
  EXPECT_GE(dims.size(), 16u);
}

TEST(RegretShapesTest, AShapeWithAModelsNameIsOneOfItsBlocks) {
  int num_models = 0;
  for (const NamedShape& shape : RegretShapes()) {
    if (shape.name.starts_with("invented-")) continue;
    ++num_models;
    ModelOptions options;
    options.model_files = {"bench/models/" + shape.name + ".json"};
    options.dtype = "bf16";
    const std::vector<ModelRequest> requests = ReadModelRequests(options).value();
    const bool is_block =
        std::any_of(requests[0].ops.begin(), requests[0].ops.end(), [&](const ModelOp& op) {
          return op.op.ok() && DimsOf(op.op->problem) == DimsOf(shape.problem) &&
                 op.op->problem.form == shape.problem.form;
        });
    EXPECT_TRUE(is_block) << shape.name;
  }
  EXPECT_GE(num_models, 12);
}

}  // namespace
}  // namespace fusebox
