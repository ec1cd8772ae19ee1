#include "src/shape/ffn_problem.h"

#include <gtest/gtest.h>

#include <string>

#include "src/base/status.h"

namespace fusebox {
namespace {

FfnProblem Gated(int64_t hidden, int64_t intermediate) {
  return {.hidden = DimK(hidden), .intermediate = DimN(intermediate)};
}

TEST(FfnProblemTest, AcceptsRealDims) {
  EXPECT_TRUE(FfnProblem::Create(Gated(4096, 11008)).ok());
  EXPECT_TRUE(FfnProblem::Create({.hidden = DimK(2048),
                                  .intermediate = DimN(8192),
                                  .activation = Activation::kGeluErf,
                                  .form = FfnForm::kPlain})
                  .ok());
}

TEST(FfnProblemTest, AcceptsEveryActivationInBothFormsAndDtypes) {
  for (const Activation activation :
       {Activation::kSilu, Activation::kGeluErf, Activation::kRelu, Activation::kGeluTanh,
        Activation::kReluSquared, Activation::kGeluNew}) {
    for (const FfnForm form : {FfnForm::kGated, FfnForm::kPlain}) {
      for (const DType dtype : {DType::kBf16, DType::kFp16}) {
        FfnProblem problem = Gated(64, 64);
        problem.activation = activation;
        problem.form = form;
        problem.dtype = dtype;
        EXPECT_TRUE(FfnProblem::Create(problem).ok()) << problem.Name();
      }
    }
  }
}

TEST(FfnProblemTest, SaysWhyItDoesNotServe) {
  const auto with = [](auto change) {
    FfnProblem problem = Gated(64, 64);
    change(problem);
    return problem;
  };
  const struct {
    FfnProblem fields;
    absl::StatusCode code;
    std::string_view sentence;
  } kCases[] = {
      {Gated(0, 64), absl::StatusCode::kInvalidArgument,
       "ffn: hidden is 0; accepted: 1 to 1048576"},
      {Gated(64, -8), absl::StatusCode::kInvalidArgument,
       "ffn: intermediate is -8; accepted: 1 to 1048576"},
      {Gated(64, 1'000'000'000'000), absl::StatusCode::kInvalidArgument,
       "ffn: intermediate is 1000000000000; accepted: 1 to 1048576"},
      {Gated(4100, 64), absl::StatusCode::kUnimplemented,
       "dim_granule: hidden 4100 is not a multiple of 8 elements (TMA needs a 16-byte pitch); pad "
       "it to 4104"},
      {with([](auto& p) { p.dtype = static_cast<DType>(9); }), absl::StatusCode::kInvalidArgument,
       "ffn: dtype 9 is not a known value; known: 1 to 2"},
      {with([](auto& p) { p.activation = static_cast<Activation>(7); }),
       absl::StatusCode::kInvalidArgument, "ffn: activation 7 is not a known value; known: 1 to 6"},
      {with([](auto& p) { p.form = static_cast<FfnForm>(0); }), absl::StatusCode::kInvalidArgument,
       "ffn: form 0 is not a known value; known: 1 to 2"},
      {with([](auto& p) { p.residual_mode = static_cast<ResidualMode>(4); }),
       absl::StatusCode::kInvalidArgument,
       "ffn: residual_mode 4 is not a known value; known: 0 to 3"},
      {with([](auto& p) { p.norm = static_cast<Norm>(-1); }), absl::StatusCode::kInvalidArgument,
       "ffn: norm -1 is not a known value; known: 0 to 3"},
      {with([](auto& p) { p.rounding = static_cast<Rounding>(2); }),
       absl::StatusCode::kInvalidArgument, "ffn: rounding 2 is not a known value; known: 0 to 1"},
      {with([](auto& p) { p.residual_mode = ResidualMode::kAddBeforeNorm; }),
       absl::StatusCode::kInvalidArgument,
       "ffn: residual mode add_before_norm needs a norm, and norm is none; add before the call and "
       "use residual none"},
      {with([](auto& p) { p.residual_mode = ResidualMode::kSandwich; }),
       absl::StatusCode::kInvalidArgument,
       "ffn: residual mode sandwich needs a norm, and norm is none; add after the call and use "
       "residual none"},
      {with([](auto& p) {
         p.residual_mode = ResidualMode::kSandwich;
         p.norm = Norm::kLayer;
       }),
       absl::StatusCode::kUnimplemented,
       "sandwich_norm: residual mode sandwich has no kernel for norm layer, only for rms and "
       "rms_plus_one; run the second norm yourself and use residual none"},
  };
  for (const auto& c : kCases) {
    const absl::Status status = FfnProblem::Create(c.fields).status();
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_EQ(status.message(), c.sentence);
  }
}

TEST(FfnProblemTest, CountsCompulsoryBytes) {
  FfnProblem problem = Gated(1024, 3072);
  EXPECT_EQ(problem.weight_bytes(), 3 * 1024 * 3072 * 2);
  EXPECT_EQ(problem.compulsory_bytes(8), problem.weight_bytes() + 2 * 8 * 1024 * 2);
  problem.residual_mode = ResidualMode::kAddAfter;
  EXPECT_EQ(problem.compulsory_bytes(8), problem.weight_bytes() + 3 * 8 * 1024 * 2);
  EXPECT_EQ(problem.Name(), "ffn_gated_silu_bf16_h1024_i3072_add_after");
}

TEST(FfnProblemTest, CountsTheBytesOfBiasesNormsAndResiduals) {
  FfnProblem problem = Gated(1024, 3072);
  const int64_t bare = problem.compulsory_bytes(8);
  const int64_t row = 1024 * 2;
  problem.up_bias = true;
  problem.down_bias = true;
  EXPECT_EQ(problem.compulsory_bytes(8), bare + 2 * 3072 * 2 + row);
  problem = Gated(1024, 3072);
  problem.norm = Norm::kRms;
  EXPECT_EQ(problem.compulsory_bytes(8), bare + row);
  problem.residual_mode = ResidualMode::kAddBeforeNorm;  // residual in and out
  EXPECT_EQ(problem.compulsory_bytes(8), bare + row + 2 * 8 * row);
  problem.residual_mode = ResidualMode::kSandwich;  // adds x again, and has a second norm
  EXPECT_EQ(problem.compulsory_bytes(8), bare + 2 * row);
  problem.norm = Norm::kLayer;
  problem.residual_mode = ResidualMode::kNone;
  EXPECT_EQ(problem.compulsory_bytes(8), bare + 2 * row);
}

TEST(FfnProblemTest, NamesWhatIsNotTheDefault) {
  FfnProblem problem = Gated(64, 128);
  EXPECT_EQ(problem.Name(), "ffn_gated_silu_bf16_h64_i128");
  problem.up_bias = true;
  EXPECT_EQ(problem.Name(), "ffn_gated_silu_bf16_h64_i128_up_bias");
  problem.up_bias = false;
  problem.down_bias = true;
  EXPECT_EQ(problem.Name(), "ffn_gated_silu_bf16_h64_i128_down_bias");
  EXPECT_EQ((FfnProblem{.hidden = DimK(64),
                        .intermediate = DimN(128),
                        .dtype = DType::kFp16,
                        .activation = Activation::kReluSquared,
                        .form = FfnForm::kPlain,
                        .residual_mode = ResidualMode::kAddBeforeNorm,
                        .norm = Norm::kLayer,
                        .rounding = Rounding::kFused,
                        .up_bias = true,
                        .down_bias = true}
                 .Name()),
            "ffn_plain_relu_squared_fp16_h64_i128_layer_add_before_norm_bias_fused");
  problem = Gated(64, 128);
  problem.activation = Activation::kGeluTanh;
  problem.norm = Norm::kRmsPlusOne;
  problem.residual_mode = ResidualMode::kSandwich;
  EXPECT_EQ(problem.Name(), "ffn_gated_gelu_tanh_bf16_h64_i128_rms_plus_one_sandwich");
}

TEST(TokenTileTest, HoldsTheTokens) {
  const struct {
    int64_t tokens;
    int tile;
  } kCases[] = {{0, 8},   {1, 8},   {8, 8},   {9, 16},   {16, 16},  {17, 32},
                {32, 32}, {33, 64}, {64, 64}, {65, 128}, {128, 128}};
  for (const auto& c : kCases) EXPECT_EQ(TokenTileFor(c.tokens).value(), c.tile) << c.tokens;
}

TEST(TokenTileTest, DeclinesMoreThanTheLargestAndRefusesLessThanNone) {
  EXPECT_TRUE(IsDeclined(TokenTileFor(129).status()));
  EXPECT_EQ(TokenTileFor(129).status().message(),
            "token_limit: 129 tokens exceed the 128 that the largest token tile holds; split the "
            "batch or run your own path");
  EXPECT_EQ(TokenTileFor(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fusebox
