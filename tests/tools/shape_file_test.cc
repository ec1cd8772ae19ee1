#include "runtime/tools/shape_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using testing::HasSubstr;

std::string Shape(const std::string& name, const std::string& hidden = "64") {
  return R"({"name": ")" + name + R"(", "hidden": )" + hidden +
         R"(, "intermediate": 128, "form": "plain", "activation": "relu"})";
}

absl::StatusOr<std::vector<NamedShape>> Read(const std::string& text) {
  TemporaryFolder folder;
  WriteText(folder.path("shapes.json"), text);
  return ReadShapeFile(folder.path("shapes.json"));
}

TEST(ShapeFileTest, ShapesComeInTheFilesOrder) {
  const std::vector<NamedShape> shapes = Read("[" + Shape("b") + "," + Shape("a") + "]").value();
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].name, "b");
  EXPECT_EQ(shapes[1].name, "a");
  EXPECT_EQ(shapes[1].problem, (FfnProblem{.hidden = DimK(64),
                                           .intermediate = DimN(128),
                                           .activation = Activation::kRelu,
                                           .form = FfnForm::kPlain}));
}

TEST(ShapeFileTest, WhatIsWrongIsSaidWithTheShapesNumber) {
  const struct {
    std::string text;
    const char* sentence;
  } cases[] = {
      {"{}", "is no JSON array of shapes"},
      {"[]", "is no JSON array of shapes"},
      {"[" + Shape("a") + ", 7]", "shape 2"},
      {"[" + Shape("a") + "," + Shape("a") + "]", "shape 2: an earlier one has the name a"},
      {"[" + Shape("a", "0") + "]", "shape 1"},
      {R"([{"name": "a", "hidden": 64, "intermediate": 64, "form": "gated"}])", "activation"},
      {"[" + Shape("a").substr(0, Shape("a").size() - 1) + R"(, "tokens": 8}])", "tokens"},
      {R"([{"name": "a", "hidden": 64, "intermediate": 64, "form": "round",
            "activation": "relu"}])",
       "accepted: gated, plain"},
  };
  for (const auto& one : cases) {
    const absl::Status status = Read(one.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << one.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.sentence)) << one.text;
  }
}

TEST(ShapeFileTest, AVariantAndADtypeHoldForEveryShape) {
  TemporaryFolder folder;
  WriteText(folder.path("shapes.json"), "[" + Shape("a") + "," + Shape("b", "128") + "]");
  const CommandResult result =
      RunCommand({"plan", "--gpu", "h200-sxm", "--tokens", "8", "--shapes",
                  folder.path("shapes.json"), "--dtype", "fp16", "--norm", "rms", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json ops = result.Json();
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0]["op"], "ffn_plain_relu_fp16_h64_i128_rms");
  EXPECT_EQ(ops[1]["op"], "ffn_plain_relu_fp16_h128_i128_rms");
}

}  // namespace
}  // namespace fusebox
