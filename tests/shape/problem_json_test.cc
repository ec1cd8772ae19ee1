#include "src/shape/problem_json.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace fusebox {
namespace {

absl::StatusOr<FfnProblem> ReadBack(const nlohmann::ordered_json& problem) {
  StrictJson json =
      StrictJson::Parse(nlohmann::ordered_json{{"problem", problem}}.dump(), "text").value();
  const FfnProblem read = ReadProblem(json, "problem");
  if (const absl::Status finished = json.Finish(); !finished.ok()) return finished;
  return read;
}

const FfnProblem kOddOne = {.hidden = DimK(2304),
                            .intermediate = DimN(9216),
                            .dtype = DType::kFp16,
                            .activation = Activation::kGeluTanh,
                            .form = FfnForm::kPlain,
                            .residual_mode = ResidualMode::kSandwich,
                            .norm = Norm::kRmsPlusOne,
                            .rounding = Rounding::kFused,
                            .up_bias = true,
                            .down_bias = false};

TEST(ProblemJsonTest, EveryFieldIsReadBackAsItWas) {
  for (const FfnProblem& problem :
       {FfnProblem{.hidden = DimK(64), .intermediate = DimN(128)},
        FfnProblem{
            .hidden = DimK(64), .intermediate = DimN(128), .activation = Activation::kGeluNew},
        kOddOne}) {
    const absl::StatusOr<FfnProblem> read = ReadBack(ProblemToJson(problem));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, problem) << ProblemToJson(problem);
  }
}

TEST(ProblemJsonTest, EveryFieldIsNeeded) {
  const nlohmann::ordered_json whole = ProblemToJson(kOddOne);
  for (const auto& [field, value] : whole.items()) {
    nlohmann::ordered_json without = whole;
    without.erase(field);
    EXPECT_EQ(ReadBack(without).status().message(),
              absl::StrCat("text: problem.", field, " is missing"));
  }
}

TEST(ProblemJsonTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  nlohmann::ordered_json json = ProblemToJson(kOddOne);
  json["norm"] = "batch";
  EXPECT_EQ(ReadBack(json).status().message(),
            "text: problem.norm is \"batch\"; accepted: none, rms, rms_plus_one, layer");
}

}  // namespace
}  // namespace fusebox
