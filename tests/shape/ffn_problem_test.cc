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

TEST(FfnProblemTest, SaysWhyItDoesNotServe) {
  FfnProblem gelu_gated = Gated(64, 64);
  gelu_gated.activation = Activation::kGeluErf;
  FfnProblem silu_plain = Gated(64, 64);
  silu_plain.form = FfnForm::kPlain;
  FfnProblem unknown = Gated(64, 64);
  unknown.dtype = static_cast<DType>(9);
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
      {gelu_gated, absl::StatusCode::kUnimplemented,
       "activation_form: a gated ffn with gelu_erf has no kernel; this version has silu and relu "
       "for it"},
      {silu_plain, absl::StatusCode::kUnimplemented,
       "activation_form: a plain ffn with silu has no kernel; this version has gelu_erf and relu "
       "for it"},
      {unknown, absl::StatusCode::kInvalidArgument, "ffn: dtype 9 is not a known value"},
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

TEST(TokenTileTest, HoldsTheTokens) {
  const struct {
    int64_t tokens;
    int tile;
  } kCases[] = {{0, 8}, {1, 8}, {8, 8}, {9, 16}, {16, 16}, {17, 32}, {32, 32}};
  for (const auto& c : kCases) EXPECT_EQ(TokenTileFor(c.tokens).value(), c.tile) << c.tokens;
}

TEST(TokenTileTest, DeclinesMoreThanTheLargestAndRefusesLessThanNone) {
  EXPECT_TRUE(IsDeclined(TokenTileFor(33).status()));
  EXPECT_EQ(TokenTileFor(33).status().message(),
            "token_limit: 33 tokens exceed the 32 that the largest token tile holds; split the "
            "batch or run your own path");
  EXPECT_EQ(TokenTileFor(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fusebox
