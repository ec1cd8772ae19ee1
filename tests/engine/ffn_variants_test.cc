// What reaches the kernel for every variant of the ffn: problem, tensor maps, vectors, residuals.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "src/plan/footprint.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

constexpr int64_t kHidden = 2048;        // of EngineFixture::Desc
constexpr int64_t kIntermediate = 8192;  // the same

class FfnVariantsTest : public EngineFixture {
 protected:
  static fusebox_ffn_desc DescWith(void (*change)(fusebox_ffn_desc&)) {
    fusebox_ffn_desc desc = Desc();
    change(desc);
    return desc;
  }
  const FfnParams& Launch(const fusebox_ffn_args& args) {
    EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_OK)
        << fusebox_last_error_message();
    return driver_.launches.back().params;
  }
  // The rows that phase 1 streams lie in the workspace.
  void ExpectNormalizedRows(const FfnParams& params, const fusebox_ffn_args& args) {
    const FusionPlan& plan = op_->ffn->Planned(TileIndexFor(args.tokens)).report.best.plan;
    const FakeTensorMap rows = ReadFakeMap(params.x);
    EXPECT_EQ(rows.address, static_cast<char*>(args.workspace) + NormalizedRowsOffset(plan));
    EXPECT_EQ(rows.rows, static_cast<unsigned long long>(plan.num_clusters * plan.token_tile));
    EXPECT_EQ(rows.columns, static_cast<unsigned long long>(kHidden));
    EXPECT_EQ(rows.row_bytes, static_cast<unsigned long long>(kHidden * 2));
    EXPECT_EQ(rows.box_rows, static_cast<unsigned int>(plan.token_tile));
    EXPECT_EQ(rows.swizzle, static_cast<unsigned int>(CU_TENSOR_MAP_SWIZZLE_128B));
    EXPECT_LE(NormalizedRowsOffset(plan) + static_cast<int64_t>(rows.rows * rows.row_bytes),
              static_cast<int64_t>(args.workspace_bytes));
  }
};

TEST_F(FfnVariantsTest, AnOpIsTheProblemThatItsDescNames) {
  engine_ = MakeEngine();
  const FfnProblem base{
      .hidden = DimK(kHidden), .intermediate = DimN(kIntermediate), .rounding = Rounding::kEngine};
  const struct {
    void (*change)(fusebox_ffn_desc&);
    void (*expected)(FfnProblem&);
  } cases[] = {
      {[](auto&) {}, [](auto&) {}},
      {[](auto& d) { d.rounding = FUSEBOX_ROUNDING_HF; }, [](auto&) {}},  // rounds alike
      {[](auto& d) { d.gate_up = FUSEBOX_GATE_UP_REVERSED; }, [](auto&) {}},
      {[](auto& d) { d.dtype = FUSEBOX_DTYPE_FP16; }, [](auto& p) { p.dtype = DType::kFp16; }},
      {[](auto& d) { d.activation = FUSEBOX_ACTIVATION_GELU_ERF; },
       [](auto& p) { p.activation = Activation::kGeluErf; }},
      {[](auto& d) { d.activation = FUSEBOX_ACTIVATION_RELU; },
       [](auto& p) { p.activation = Activation::kRelu; }},
      {[](auto& d) { d.activation = FUSEBOX_ACTIVATION_GELU_TANH; },
       [](auto& p) { p.activation = Activation::kGeluTanh; }},
      {[](auto& d) { d.activation = FUSEBOX_ACTIVATION_RELU_SQUARED; },
       [](auto& p) { p.activation = Activation::kReluSquared; }},
      {[](auto& d) { d.activation = FUSEBOX_ACTIVATION_GELU_NEW; },
       [](auto& p) { p.activation = Activation::kGeluNew; }},
      {[](auto& d) { d.gated = 0; }, [](auto& p) { p.form = FfnForm::kPlain; }},
      {[](auto& d) { d.biases = FUSEBOX_BIAS_UP; }, [](auto& p) { p.up_bias = true; }},
      {[](auto& d) { d.biases = FUSEBOX_BIAS_DOWN; }, [](auto& p) { p.down_bias = true; }},
      {[](auto& d) { d.norm = FUSEBOX_NORM_RMS; }, [](auto& p) { p.norm = Norm::kRms; }},
      {[](auto& d) { d.norm = FUSEBOX_NORM_RMS_PLUS_ONE; },
       [](auto& p) { p.norm = Norm::kRmsPlusOne; }},
      {[](auto& d) { d.norm = FUSEBOX_NORM_LAYER; }, [](auto& p) { p.norm = Norm::kLayer; }},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_ADD_AFTER; },
       [](auto& p) { p.residual_mode = ResidualMode::kAddAfter; }},
      {[](auto& d) {
         d.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM, d.norm = FUSEBOX_NORM_RMS;
       },
       [](auto& p) { p.residual_mode = ResidualMode::kAddBeforeNorm, p.norm = Norm::kRms; }},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_SANDWICH, d.norm = FUSEBOX_NORM_RMS; },
       [](auto& p) { p.residual_mode = ResidualMode::kSandwich, p.norm = Norm::kRms; }}};
  for (const auto& [change, expected] : cases) {
    FfnProblem problem = base;
    expected(problem);
    const OpPointer op = MakeOp(engine_, DescWith(change));
    ASSERT_NE(op, nullptr) << problem.Name();
    EXPECT_TRUE(op->ffn->spec().problem == problem)
        << op->ffn->spec().problem.Name() << " instead of " << problem.Name();
  }
}

TEST_F(FfnVariantsTest, EveryTensorMapHasTheOpsDtype) {
  const struct {
    fusebox_dtype dtype;
    CUtensorMapDataType expected;
  } cases[] = {{FUSEBOX_DTYPE_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
               {FUSEBOX_DTYPE_FP16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16}};
  for (const auto& [dtype, expected] : cases) {
    for (const fusebox_norm norm : {FUSEBOX_NORM_NONE, FUSEBOX_NORM_RMS}) {
      fusebox_ffn_desc desc = Desc();
      desc.dtype = dtype;
      desc.norm = norm;
      SetUpReadyBinding(desc);
      const FfnParams& params = Launch(Args(op_, 3));
      for (const TensorMap& map : {params.gate, params.up, params.down, params.x}) {
        EXPECT_EQ(ReadFakeMap(map).dtype, static_cast<unsigned int>(expected));
      }
    }
  }
}

TEST_F(FfnVariantsTest, BiasesFollowTheOrderOfTheirMatrices) {
  const char* const fused = static_cast<const char*>(DeviceAddress(0x21000000));
  const struct {
    void (*change)(fusebox_ffn_desc&);
    const void* gate;
    const void* up;
  } cases[] = {
      {[](auto& d) { d.gate_up = FUSEBOX_GATE_UP_FUSED; }, fused, fused + kIntermediate * 2},
      {[](auto& d) { d.gate_up = FUSEBOX_GATE_UP_REVERSED; }, fused + kIntermediate * 2, fused},
      {[](auto& d) { d.gate_up = FUSEBOX_GATE_UP_SEPARATE; }, DeviceAddress(0x22000000),
       DeviceAddress(0x23000000)},
      {[](auto& d) { d.gated = 0; }, nullptr, DeviceAddress(0x23000000)}};
  for (const auto& [change, gate, up] : cases) {
    fusebox_ffn_desc desc = DescWith(change);
    desc.biases = FUSEBOX_BIAS_UP | FUSEBOX_BIAS_DOWN;
    SetUpReadyBinding(desc);
    const FfnParams& params = Launch(Args(op_, 3));
    EXPECT_EQ(params.gate_bias, gate);
    EXPECT_EQ(params.up_bias, up);
    EXPECT_EQ(params.down_bias, DeviceAddress(0x24000000));
  }
}

TEST_F(FfnVariantsTest, EachBiasIsBoundAlone) {
  SetUpReadyBinding(DescWith([](auto& d) { d.biases = FUSEBOX_BIAS_DOWN; }));
  EXPECT_EQ(Launch(Args(op_, 3)).up_bias, nullptr);
  EXPECT_EQ(driver_.launches.back().params.down_bias, DeviceAddress(0x24000000));
  SetUpReadyBinding(DescWith([](auto& d) { d.biases = FUSEBOX_BIAS_UP; }));
  EXPECT_EQ(Launch(Args(op_, 3)).down_bias, nullptr);
  EXPECT_EQ(driver_.launches.back().params.gate_bias, DeviceAddress(0x21000000));
}

TEST_F(FfnVariantsTest, AnOpWithANormReadsXAndStreamsTheWorkspacesRows) {
  for (const fusebox_norm norm :
       {FUSEBOX_NORM_RMS, FUSEBOX_NORM_RMS_PLUS_ONE, FUSEBOX_NORM_LAYER}) {
    fusebox_ffn_desc desc = Desc();
    desc.norm = norm;
    SetUpReadyBinding(desc);
    for (const int tokens : {1, 8, 9, 17, 32}) {
      fusebox_ffn_args args = Args(op_, tokens);
      args.x_stride = 2056;
      const FfnParams& params = Launch(args);
      ExpectNormalizedRows(params, args);
      EXPECT_EQ(params.x_rows, args.x);
      EXPECT_EQ(params.x_stride, 2056);
      EXPECT_EQ(params.norm_weight, DeviceAddress(0x25000000));
      EXPECT_EQ(params.norm_bias, norm == FUSEBOX_NORM_LAYER ? DeviceAddress(0x26000000) : nullptr);
      EXPECT_EQ(params.second_norm_weight, nullptr);
      EXPECT_EQ(params.eps, 1e-6f);
      EXPECT_EQ(params.residual_out, nullptr);
    }
  }
}

TEST_F(FfnVariantsTest, ALayerNormNeedsNoBias) {
  const fusebox_ffn_desc desc = DescWith([](auto& d) { d.norm = FUSEBOX_NORM_LAYER; });
  SetUpReadyBinding(desc);
  fusebox_ffn_weights weights = Weights(desc);
  weights.norm_bias = nullptr;
  binding_ = Bind(op_, weights);
  EXPECT_EQ(Launch(Args(op_, 3)).norm_bias, nullptr);
}

TEST_F(FfnVariantsTest, AnOpWithoutANormStreamsX) {
  SetUpReadyBinding();
  const fusebox_ffn_args args = Args(op_, 5);
  const FfnParams& params = Launch(args);
  EXPECT_EQ(ReadFakeMap(params.x).address, args.x);
  EXPECT_EQ(ReadFakeMap(params.x).rows, 5u);
  EXPECT_EQ(params.norm_weight, nullptr);
  EXPECT_EQ(params.gate_bias, nullptr);
  EXPECT_EQ(params.eps, 0.0f);
}

TEST_F(FfnVariantsTest, AddBeforeNormStoresTheSumInPlaceOrElsewhere) {
  SetUpReadyBinding(DescWith([](auto& d) {
    d.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM, d.norm = FUSEBOX_NORM_RMS;
  }));
  fusebox_ffn_args args = Args(op_, 5);
  args.residual_stride = args.residual_out_stride = 2064;
  FfnParams params = Launch(args);
  ExpectNormalizedRows(params, args);
  EXPECT_EQ(params.x_rows, args.x);
  EXPECT_EQ(params.x_stride, kHidden);
  EXPECT_EQ(params.residual, args.residual);
  EXPECT_EQ(params.residual_stride, 2064);
  EXPECT_EQ(params.residual_out, args.residual);
  EXPECT_EQ(params.residual_out_stride, 2064);

  args.residual_out = DeviceAddress(0x3a000000);
  args.residual_out_stride = 0;
  params = Launch(args);
  EXPECT_EQ(params.residual, args.residual);
  EXPECT_EQ(params.residual_out, args.residual_out);
  EXPECT_EQ(params.residual_out_stride, kHidden);
}

TEST_F(FfnVariantsTest, AddAfterTakesXOrAResidualThatMayBeY) {
  SetUpReadyBinding(DescWith(
      [](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_ADD_AFTER, d.norm = FUSEBOX_NORM_LAYER; }));
  fusebox_ffn_args args = Args(op_, 5);
  args.x_stride = 2056;
  EXPECT_EQ(Launch(args).residual, args.x);
  EXPECT_EQ(driver_.launches.back().params.residual_stride, 2056);
  args.residual = args.y;
  EXPECT_EQ(Launch(args).residual, args.y);
  EXPECT_EQ(driver_.launches.back().params.residual_stride, kHidden);
}

TEST_F(FfnVariantsTest, SandwichAddsXAndHasASecondNorm) {
  SetUpReadyBinding(DescWith([](auto& d) {
    d.residual_mode = FUSEBOX_RESIDUAL_SANDWICH, d.norm = FUSEBOX_NORM_RMS_PLUS_ONE;
  }));
  fusebox_ffn_args args = Args(op_, 5);
  args.x_stride = 2056;
  const FfnParams& params = Launch(args);
  ExpectNormalizedRows(params, args);
  EXPECT_EQ(params.residual, args.x);
  EXPECT_EQ(params.residual_stride, 2056);
  EXPECT_EQ(params.residual_out, nullptr);
  EXPECT_EQ(params.norm_weight, DeviceAddress(0x25000000));
  EXPECT_EQ(params.second_norm_weight, DeviceAddress(0x27000000));
}

TEST_F(FfnVariantsTest, LaunchesForNoTokensWithoutAResidual) {
  SetUpReadyBinding(DescWith([](auto& d) {
    d.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM, d.norm = FUSEBOX_NORM_RMS;
  }));
  const fusebox_ffn_args args = {.struct_size = sizeof(args)};
  const FfnParams& params = Launch(args);
  EXPECT_EQ(params.tokens, 0u);
  EXPECT_NE(ReadFakeMap(params.x).address, nullptr);
}

// Structs as version 0.1 had them; what lies behind is not the library's to read.
TEST_F(FfnVariantsTest, CallersOfAnOlderHeaderAreServed) {
  SetUpReadyBinding();
  fusebox_ffn_weights weights = Weights();
  weights.struct_size = offsetof(fusebox_ffn_weights, gate_up_bias);
  weights.gate_up_bias = weights.norm_weight = DeviceAddress(0x666);
  binding_ = Bind(op_, weights);
  fusebox_ffn_args args = Args(op_, 5);
  args.struct_size = offsetof(fusebox_ffn_args, residual_out);
  args.residual_out = DeviceAddress(0x666);
  args.residual_out_stride = 3;
  const FfnParams& params = Launch(args);
  EXPECT_EQ(params.y, args.y);
  EXPECT_EQ(params.residual_out, nullptr);
  EXPECT_EQ(params.gate_bias, nullptr);
  EXPECT_EQ(params.norm_weight, nullptr);
}

}  // namespace
}  // namespace fusebox
