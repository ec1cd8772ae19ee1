// Biases, norms and residuals that do not match the op end in a status and a sentence that names
// what was asked, the limit and the remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class FfnVariantsErrorTest : public EngineFixture {
 protected:
  struct BindCase {
    void (*desc)(fusebox_ffn_desc&);
    void (*weights)(fusebox_ffn_weights&);
    const char* sentence;
  };
  struct LaunchCase {
    void (*change)(fusebox_ffn_args&);
    fusebox_status status;
    const char* sentence;
  };

  void ExpectRefused(const BindCase& refused) {
    fusebox_ffn_desc desc = Desc();
    refused.desc(desc);
    const OpPointer op = MakeOp(engine_, desc);
    fusebox_ffn_weights weights = Weights(desc);
    refused.weights(weights);
    fusebox_binding* binding = nullptr;
    EXPECT_EQ(fusebox_ffn_bind(op.get(), &weights, &binding), FUSEBOX_INVALID_ARGUMENT)
        << refused.sentence;
    EXPECT_THAT(std::string(fusebox_last_error_message()), HasSubstr(refused.sentence));
    EXPECT_EQ(binding, nullptr);
  }
  void ExpectRefused(const LaunchCase& refused) {
    fusebox_ffn_args args = Args(op_, 8);
    refused.change(args);
    EXPECT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), refused.status)
        << refused.sentence;
    EXPECT_THAT(std::string(fusebox_last_error_message()), HasSubstr(refused.sentence));
  }

  static void WithBiases(fusebox_ffn_desc& desc) {
    desc.biases = FUSEBOX_BIAS_UP | FUSEBOX_BIAS_DOWN;
  }
  static void WithRms(fusebox_ffn_desc& desc) { desc.norm = FUSEBOX_NORM_RMS; }
  static void WithSandwich(fusebox_ffn_desc& desc) {
    desc.norm = FUSEBOX_NORM_RMS;
    desc.residual_mode = FUSEBOX_RESIDUAL_SANDWICH;
  }
};

TEST_F(FfnVariantsErrorTest, ABindingNamesTheBiasThatIsWrong) {
  engine_ = MakeEngine();
  driver_.memory_of_gpu[DeviceAddress(0xf0000000)] = 1;
  driver_.not_device[DeviceAddress(0xf1000000)] = CUDA_ERROR_INVALID_VALUE;
  const BindCase cases[] = {
      {WithBiases, [](auto& w) { w.gate_up_bias = nullptr; },
       "weights: gate_up_bias is NULL; the op needs a vector of 16384 elements there"},
      {WithBiases, [](auto& w) { w.down_bias = nullptr; },
       "weights: down_bias is NULL; the op needs a vector of 2048 elements there"},
      {WithBiases, [](auto& w) { w.gate_bias = w.down_bias; },
       "weights: gate_bias must be NULL: the op's gate_up names one matrix"},
      {WithBiases, [](auto& w) { w.up_bias = w.down_bias; },
       "weights: up_bias must be NULL: the op's gate_up names one matrix"},
      {[](auto& d) { WithBiases(d), d.gate_up = FUSEBOX_GATE_UP_SEPARATE; },
       [](auto& w) { w.gate_up_bias = w.down_bias; },
       "weights: gate_up_bias must be NULL: the op's gate_up names two matrices"},
      {[](auto& d) { WithBiases(d), d.gate_up = FUSEBOX_GATE_UP_SEPARATE; },
       [](auto& w) { w.gate_bias = nullptr; }, "weights: gate_bias is NULL"},
      {[](auto& d) { WithBiases(d), d.gated = 0; }, [](auto& w) { w.up_bias = nullptr; },
       "weights: up_bias is NULL; the op needs a vector of 8192 elements there"},
      {[](auto& d) { WithBiases(d), d.gated = 0; }, [](auto& w) { w.gate_bias = w.up_bias; },
       "weights: gate_bias must be NULL: the op is plain and has only up"},
      {[](auto& d) { WithBiases(d), d.gated = 0; }, [](auto& w) { w.gate_up_bias = w.up_bias; },
       "weights: gate_up_bias must be NULL: the op is plain and has only up"},
      {[](auto&) {}, [](auto& w) { w.gate_up_bias = w.down; },
       "weights: gate_up_bias must be NULL: the op's biases leave out up"},
      {[](auto&) {}, [](auto& w) { w.up_bias = w.down; },
       "weights: up_bias must be NULL: the op's biases leave out up"},
      {[](auto&) {}, [](auto& w) { w.down_bias = w.down; },
       "weights: down_bias must be NULL: the op's biases leave out down"},
      {WithBiases, [](auto& w) { w.down_bias = DeviceAddress(0x24000008); },
       "weights: down_bias 0x24000008 is not aligned to 16 bytes"},
      {WithBiases, [](auto& w) { w.down_bias = DeviceAddress(0xf0000000); },
       "weights: down_bias 0xf0000000 lies on GPU 1"},
      {WithBiases, [](auto& w) { w.gate_up_bias = DeviceAddress(0xf1000000); },
       "weights: gate_up_bias 0xf1000000 is no device memory"}};
  for (const BindCase& refused : cases) ExpectRefused(refused);
}

TEST_F(FfnVariantsErrorTest, ABindingNamesWhatItsNormLacks) {
  engine_ = MakeEngine();
  const BindCase cases[] = {
      {WithRms, [](auto& w) { w.norm_weight = nullptr; },
       "weights: norm_weight is NULL; the op needs a vector of 2048 elements there"},
      {WithRms, [](auto& w) { w.norm_weight = DeviceAddress(0x25000002); },
       "weights: norm_weight 0x25000002 is not aligned to 16 bytes"},
      {WithRms, [](auto& w) { w.norm_bias = w.norm_weight; },
       "weights: norm_bias must be NULL: only norm layer has a bias"},
      {[](auto& d) { d.norm = FUSEBOX_NORM_LAYER; },
       [](auto& w) { w.norm_bias = DeviceAddress(0x26000004); },
       "weights: norm_bias 0x26000004 is not aligned to 16 bytes"},
      {WithRms, [](auto& w) { w.second_norm_weight = w.norm_weight; },
       "weights: second_norm_weight must be NULL: only residual mode sandwich has a second norm"},
      {WithSandwich, [](auto& w) { w.second_norm_weight = nullptr; },
       "weights: second_norm_weight is NULL"},
      {[](auto&) {}, [](auto& w) { w.norm_weight = w.down; },
       "weights: norm_weight must be NULL: the op has no norm"},
      {[](auto&) {}, [](auto& w) { w.norm_bias = w.down; },
       "weights: norm_bias must be NULL: the op has no norm"},
      {WithRms, [](auto& w) { w.eps = 0.0; },
       "weights: eps is 0; a norm needs one above 0 and finite as fp32: pass the model's"},
      {WithRms, [](auto& w) { w.eps = -1e-5; }, "weights: eps is -1e-05"},
      {WithRms, [](auto& w) { w.eps = 1e-60; }, "weights: eps is 1e-60"},  // 0 as fp32
      {WithRms, [](auto& w) { w.eps = 1e60; }, "weights: eps is 1e+60"},
      {WithRms, [](auto& w) { w.eps = std::numeric_limits<double>::infinity(); },
       "weights: eps is inf"},
      {WithRms, [](auto& w) { w.eps = std::nan(""); }, "weights: eps is nan"},
      // A caller of an older header cannot name a norm's weight.
      {WithRms, [](auto& w) { w.struct_size = offsetof(fusebox_ffn_weights, gate_up_bias); },
       "weights: norm_weight is NULL"}};
  for (const BindCase& refused : cases) ExpectRefused(refused);
}

TEST_F(FfnVariantsErrorTest, ALaunchNeedsBothResidualsOfAddBeforeNorm) {
  SetUpReadyBinding([] {
    fusebox_ffn_desc desc = Desc();
    WithRms(desc);
    desc.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM;
    return desc;
  }());
  const LaunchCase cases[] = {
      {[](auto& a) { a.residual = nullptr; }, FUSEBOX_INVALID_ARGUMENT,
       "residual is NULL, but the op's residual mode is add_before_norm; pass [tokens, 2048]"},
      {[](auto& a) { a.residual_out = nullptr; }, FUSEBOX_INVALID_ARGUMENT,
       "residual_out is NULL, but the op's residual mode is add_before_norm"},
      {[](auto& a) { a.struct_size = offsetof(fusebox_ffn_args, residual_out); },
       FUSEBOX_INVALID_ARGUMENT, "residual_out is NULL"},
      {[](auto& a) { a.residual_out = const_cast<void*>(a.x); }, FUSEBOX_INVALID_ARGUMENT,
       "residual_out is x, which is still needed when residual_out is written"},
      {[](auto& a) { a.residual_out = a.y; }, FUSEBOX_INVALID_ARGUMENT, "y is residual_out"},
      {[](auto& a) { a.residual = a.y; }, FUSEBOX_INVALID_ARGUMENT, "y is residual, "},
      {[](auto& a) { a.y = const_cast<void*>(a.x); }, FUSEBOX_INVALID_ARGUMENT, "y is x"},
      {[](auto& a) { a.residual = DeviceAddress(0x38000002); }, FUSEBOX_INVALID_ARGUMENT,
       "residual 0x38000002 is not aligned to 16 bytes"},
      {[](auto& a) { a.residual_out = DeviceAddress(0x38000004); }, FUSEBOX_INVALID_ARGUMENT,
       "residual_out 0x38000004 is not aligned to 16 bytes"},
      {[](auto& a) { a.residual_out_stride = 2040; }, FUSEBOX_INVALID_ARGUMENT,
       "residual_out_stride 2040 is below the width, 2048"},
      {[](auto& a) { a.residual_out_stride = 2050; }, FUSEBOX_DECLINED,
       "row_pitch: residual_out_stride 2050"},
      {[](auto& a) { a.residual_stride = 2050; }, FUSEBOX_DECLINED,
       "row_pitch: residual_stride 2050"}};
  for (const LaunchCase& refused : cases) ExpectRefused(refused);
  EXPECT_EQ(driver_.num_launches, 0);
}

TEST_F(FfnVariantsErrorTest, ALaunchRefusesResidualsThatItsModeDoesNotName) {
  const struct {
    void (*desc)(fusebox_ffn_desc&);
    LaunchCase refused;
  } cases[] = {
      {[](auto&) {},
       {[](auto& a) { a.residual_out = DeviceAddress(0x3a000000); }, FUSEBOX_INVALID_ARGUMENT,
        "residual_out is given, but the op's residual mode is none; pass NULL, or make the op with "
        "add_before_norm"}},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_ADD_AFTER; },
       {[](auto& a) { a.residual_out = DeviceAddress(0x3a000000); }, FUSEBOX_INVALID_ARGUMENT,
        "residual_out is given, but the op's residual mode is add_after"}},
      {WithSandwich,
       {[](auto& a) { a.residual_out = DeviceAddress(0x3a000000); }, FUSEBOX_INVALID_ARGUMENT,
        "residual_out is given, but the op's residual mode is sandwich"}},
      {WithSandwich,
       {[](auto& a) { a.residual = DeviceAddress(0x3a000000); }, FUSEBOX_INVALID_ARGUMENT,
        "residual is given, but the op's residual mode is sandwich; pass NULL, or make the op with "
        "add_after or add_before_norm"}},
      {WithSandwich,
       {[](auto& a) { a.y = const_cast<void*>(a.x); }, FUSEBOX_INVALID_ARGUMENT, "y is x"}}};
  for (const auto& [change, refused] : cases) {
    fusebox_ffn_desc desc = Desc();
    change(desc);
    SetUpReadyBinding(desc);
    ExpectRefused(refused);
  }
  EXPECT_EQ(driver_.num_launches, 0);
}

TEST_F(FfnVariantsErrorTest, ALaunchWithANormReportsTheDriversRefusalOfItsRows) {
  fusebox_ffn_desc desc = Desc();
  WithRms(desc);
  SetUpReadyBinding(desc);
  driver_.failures["cuTensorMapEncodeTiled"] = CUDA_ERROR_INVALID_VALUE;
  ExpectRefused(LaunchCase{[](auto&) {}, FUSEBOX_CUDA_FAILED,
                           "cuTensorMapEncodeTiled refused the rows of x at 0x3"});
  EXPECT_EQ(driver_.num_launches, 0);
}

}  // namespace
}  // namespace fusebox
