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
  return {.family = "llama",
          .num_layers = 32,
          .hidden = DimK(4096),
          .blocks = {{.intermediate = DimN(11008), .num_layers = 32}}};
}

ModelDemand Demand(std::vector<int64_t> degrees, std::vector<int64_t> tokens) {
  return {.engine = FindEnginePreset("vllm").value(),
          .tensor_parallel = std::move(degrees),
          .tokens = std::move(tokens),
          .variant = OpVariant::kBare};
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
      {Llama2(), Demand({1}, {kMaxTokens + 1}), "token_limit: "},
  };
  for (const Case& c : cases) {
    const auto ops = OpsForModel(c.model, c.demand);
    ASSERT_TRUE(ops.ok()) << ops.status();
    ASSERT_EQ(ops->size(), 1);
    EXPECT_TRUE(IsDeclined(ops->front().op.status())) << ops->front().op.status();
    EXPECT_THAT(std::string(ops->front().op.status().message()), StartsWith(c.sentence));
  }
  const auto mixed = OpsForModel(Llama2(), Demand({1, 3}, {8, kMaxTokens + 1}));
  ASSERT_TRUE(mixed.ok());
  ASSERT_EQ(mixed->size(), 3);
  EXPECT_TRUE((*mixed)[0].op.ok());
  EXPECT_THAT((*mixed)[1].tokens, ElementsAre(kMaxTokens + 1));
  EXPECT_EQ((*mixed)[2].name, "ffn_gated_silu_bf16_h4096_i11008/3");
}

TEST(ModelOpsTest, DtypeAndResidualCanBeAskedFor) {
  ModelDemand demand = Demand({1}, {8});
  demand.dtype = DType::kFp16;
  demand.residual = ResidualMode::kAddAfter;
  const auto ops = OpsForModel(Llama2(), demand);
  ASSERT_TRUE(ops.ok()) << ops.status();
  EXPECT_EQ(ops->front().name, "ffn_gated_silu_fp16_h4096_i11008_add_after");
}

TEST(ModelOpsTest, AResidualThatNeedsANormIsRefusedWithoutOne) {
  ModelDemand demand = Demand({1}, {8});
  demand.residual = ResidualMode::kSandwich;
  EXPECT_EQ(OpsForModel(Llama2(), demand).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ModelOpsTest, ExpertsOfOneSizeAreOneOpAndHaveNeitherNormNorResidual) {
  ModelFfn model = Llama2();
  model.blocks = {{.intermediate = DimN(11008), .num_layers = 3},
                  {FfnRole::kExpert, DimN(2048), 29, 256},
                  {FfnRole::kSharedExpert, DimN(2048), 29}};
  ModelDemand demand = Demand({1}, {8});
  demand.variant = OpVariant::kEngine;
  const auto ops = OpsForModel(model, demand);
  ASSERT_TRUE(ops.ok()) << ops.status();
  ASSERT_EQ(ops->size(), 2);
  EXPECT_EQ((*ops)[0].name, "ffn_gated_silu_bf16_h4096_i11008_rms_add_before_norm");
  EXPECT_THAT((*ops)[0].roles, ElementsAre(FfnRole::kDense));
  EXPECT_EQ((*ops)[1].name, "ffn_gated_silu_bf16_h4096_i2048");
  EXPECT_THAT((*ops)[1].roles, ElementsAre(FfnRole::kExpert, FfnRole::kSharedExpert));
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

TEST(EnginePresetTest, TransformersKeepsTheCheckpointsWeightForm) {
  ModelFfn phi3 = Llama2();
  phi3.checkpoint_form = WeightForm::kFused;
  EXPECT_EQ(WeightFormFor(phi3, FindEnginePreset("hf").value()), WeightForm::kFused);
  EXPECT_EQ(WeightFormFor(Llama2(), FindEnginePreset("hf").value()), WeightForm::kSeparate);
  EXPECT_EQ(WeightFormFor(Llama2(), FindEnginePreset("vllm").value()), WeightForm::kFused);
}

}  // namespace
}  // namespace fusebox
