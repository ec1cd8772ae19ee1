#include "src/model/model_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/status.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

ModelFfn Llama2() {
  return {.family = "llama", .num_layers = 32, .hidden = DimK(4096), .intermediate = DimN(11008)};
}

ModelFfn Opt() {
  return {.family = "opt",
          .num_layers = 24,
          .hidden = DimK(2048),
          .intermediate = DimN(8192),
          .activation = Activation::kRelu,
          .form = FfnForm::kPlain,
          .biases = Biases::kPresent};
}

ModelDemand Demand(std::vector<int64_t> degrees, std::vector<int64_t> tokens,
                   BiasChoice biases = BiasChoice::kDecline) {
  return {.engine = FindEnginePreset("vllm").value(),
          .tensor_parallel = std::move(degrees),
          .tokens = std::move(tokens),
          .biases = biases};
}

TEST(ModelOpsTest, RoundsTokenCountsUpToTilesAndListsEachOnce) {
  const auto ops = OpsForModel(Llama2(), Demand({1}, {32, 1, 8, 16, 8}));
  ASSERT_TRUE(ops.ok()) << ops.status();
  ASSERT_EQ(ops->size(), 3);
  EXPECT_THAT((*ops)[0].tokens, ElementsAre(1, 8));
  EXPECT_EQ((*ops)[0].op->token_tile, 8);
  EXPECT_EQ((*ops)[1].op->token_tile, 16);
  EXPECT_EQ((*ops)[2].op->token_tile, 32);
  EXPECT_EQ((*ops)[0].name, "ffn_gated_silu_bf16_h4096_i11008");
}

TEST(ModelOpsTest, TensorParallelDividesTheIntermediate) {
  const auto ops = OpsForModel(Llama2(), Demand({8, 1, 8}, {8}));
  ASSERT_TRUE(ops.ok());
  ASSERT_EQ(ops->size(), 2);
  EXPECT_EQ((*ops)[0].tensor_parallel, 8);
  EXPECT_EQ((*ops)[0].op->problem.intermediate.value(), 1376);
  EXPECT_EQ((*ops)[1].op->problem.intermediate.value(), 11008);
}

TEST(ModelOpsTest, DeclinesByRuleAndKeepsTheRest) {
  struct Case {
    ModelFfn model;
    ModelDemand demand;
    std::string sentence;
  };
  const Case cases[] = {
      {Llama2(), Demand({3}, {8}),
       "tensor_parallel: intermediate 11008 does not divide into 3 ranks"},
      {Llama2(), Demand({256}, {8}), "dim_granule: "},  // 43 rows a rank
      {Llama2(), Demand({1}, {33}), "token_limit: "},
      {Opt(), Demand({1}, {8}), "bias: the opt block has biases and this version has none"},
  };
  for (const Case& c : cases) {
    const auto ops = OpsForModel(c.model, c.demand);
    ASSERT_TRUE(ops.ok()) << ops.status();
    ASSERT_EQ(ops->size(), 1);
    EXPECT_TRUE(IsDeclined(ops->front().op.status())) << ops->front().op.status();
    EXPECT_THAT(std::string(ops->front().op.status().message()), StartsWith(c.sentence));
  }
  const auto mixed = OpsForModel(Llama2(), Demand({1, 3}, {8, 64}));
  ASSERT_TRUE(mixed.ok());
  ASSERT_EQ(mixed->size(), 3);
  EXPECT_TRUE((*mixed)[0].op.ok());
  EXPECT_THAT((*mixed)[1].tokens, ElementsAre(64));
  EXPECT_EQ((*mixed)[2].name, "ffn_gated_silu_bf16_h4096_i11008/3");
}

TEST(ModelOpsTest, PlansWithoutBiasesOnlyWhenAsked) {
  const auto ops = OpsForModel(Opt(), Demand({1}, {8}, BiasChoice::kIgnore));
  ASSERT_TRUE(ops.ok());
  ASSERT_TRUE(ops->front().op.ok()) << ops->front().op.status();
  EXPECT_EQ(ops->front().name, "ffn_plain_relu_bf16_h2048_i8192");
}

TEST(ModelOpsTest, RefusesCountsThatAreNotPositive) {
  struct Case {
    ModelDemand demand;
    std::string sentence;
  };
  const Case cases[] = {
      {Demand({1}, {0}), "token count 0 is not positive"},
      {Demand({1}, {8, -1}), "token count -1 is not positive"},
      {Demand({0}, {8}), "tensor-parallel degree 0 is not positive"},
      {Demand({}, {8}), "no tensor-parallel degree was given"},
      {Demand({1}, {}), "no token count was given"},
  };
  for (const Case& c : cases) {
    const auto ops = OpsForModel(Llama2(), c.demand);
    EXPECT_EQ(ops.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(ops.status().message()), StartsWith(c.sentence));
  }
}

TEST(EnginePresetTest, KnowsTheFourEngines) {
  EXPECT_EQ(FindEnginePreset("vllm")->weights, WeightForm::kFused);
  EXPECT_EQ(FindEnginePreset("sglang")->weights, WeightForm::kFused);
  EXPECT_EQ(FindEnginePreset("trtllm")->weights, WeightForm::kFused);
  EXPECT_EQ(FindEnginePreset("hf")->weights, WeightForm::kSeparate);
  EXPECT_EQ(FindEnginePreset("tgi").status().message(),
            "engine \"tgi\" is unknown; accepted: vllm, sglang, hf, trtllm");
}

}  // namespace
}  // namespace fusebox
