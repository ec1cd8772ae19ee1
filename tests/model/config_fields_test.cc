#include "src/model/config_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fusebox {
namespace {

using ::testing::HasSubstr;

std::string Sentence(const absl::Status& status) { return std::string(status.message()); }

TEST(ConfigFieldsTest, SaysWhereATextIsNotJson) {
  struct Case {
    std::string text;
    std::string sentence;
  };
  const Case cases[] = {
      {"", "the text ends after 0 bytes"},
      {"{\"hidden_size\": 40", "the text ends after 18 bytes, inside a JSON value (truncated?)"},
      {"{\"hidden_size\": \"40", "the text ends after 19 bytes"},
      {"hello", "not JSON at line 1, column 1"},
      {"{\n  \"hidden_size\": 4096,\n  oops\n}", "not JSON at line 3, column 3"},
      {"{} {}", "not JSON at line 1, column 4"},
      {"[1]", "the JSON text is an array; a config.json is one JSON object"},
      {"7", "the JSON text is 7; a config.json is one JSON object"},
  };
  for (const Case& c : cases) {
    const auto fields = ConfigFields::Parse(c.text);
    EXPECT_EQ(fields.status().code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(Sentence(fields.status()), HasSubstr(c.sentence)) << c.text;
  }
}

TEST(ConfigFieldsTest, RefusesTextsFarLargerThanAnyConfig) {
  const auto fields = ConfigFields::Parse(std::string(kMaxConfigBytes + 1, ' '));
  EXPECT_THAT(Sentence(fields.status()),
              HasSubstr("give the model's config.json, not its weights"));
}

TEST(ConfigFieldsTest, SurvivesDeepNesting) {
  const std::string deep = std::string(1 << 20, '[');
  EXPECT_FALSE(ConfigFields::Parse(deep).ok());
  EXPECT_FALSE(ConfigFields::Parse(deep + std::string(1 << 20, ']')).ok());
}

TEST(ConfigFieldsTest, IntegerNamesFieldValueAndLimit) {
  struct Case {
    std::string value;
    std::string shown;
  };
  const Case cases[] = {
      {"0", "field d is 0; an integer from 1 to 1048576 is needed"},
      {"-4096", "field d is -4096; an integer from 1 to 1048576 is needed"},
      {"1048577", "field d is 1048577; an integer from 1 to 1048576 is needed"},
      {"1000000000000", "field d is 1000000000000; an integer from 1 to 1048576 is needed"},
      {"18446744073709551615", "field d is 18446744073709551615; an integer"},
      {"18446744073709551616", "field d is 1.8446744073709552e+19 (not an integer)"},
      {"-9223372036854775808", "field d is -9223372036854775808; an integer"},
      {"4096.0", "field d is 4096.0 (not an integer); an integer"},
      {"1e12", "field d is 1000000000000.0 (not an integer); an integer"},
      {"\"4096\"", "field d is \"4096\" (a string); an integer"},
      {"true", "field d is true; an integer"},
      {"[4096]", "field d is an array; an integer"},
      {"{}", "field d is an object; an integer"},
      {"null", "field d is missing; an integer from 1 to 1048576 is needed"},
  };
  for (const Case& c : cases) {
    const auto fields = ConfigFields::Parse("{\"d\": " + c.value + "}");
    ASSERT_TRUE(fields.ok()) << c.value;
    const auto value = fields->Integer("d", 1048576);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << c.value;
    EXPECT_THAT(Sentence(value.status()), HasSubstr(c.shown)) << c.value;
  }
}

TEST(ConfigFieldsTest, ReadsWhatIsThere) {
  const auto fields = ConfigFields::Parse(
      R"({"d": 1048576, "one": 1, "flag": true, "text": "silu", "list": ["a", "b"]})");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->Integer("d", 1048576).value(), 1048576);
  EXPECT_EQ(fields->Integer("one", 1).value(), 1);
  EXPECT_EQ(fields->Flag("flag", false).value(), true);
  EXPECT_EQ(fields->Text("text", "relu").value(), "silu");
  EXPECT_EQ(fields->FirstText("list").value(), "a");
  EXPECT_TRUE(fields->Has("d"));
}

TEST(ConfigFieldsTest, MissingAndNullFieldsTakeTheDefault) {
  const auto fields = ConfigFields::Parse(R"({"flag": null, "text": null, "list": []})");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->Flag("flag", true).value(), true);
  EXPECT_EQ(fields->Flag("absent", false).value(), false);
  EXPECT_EQ(fields->Text("text", "relu").value(), "relu");
  EXPECT_EQ(fields->FirstText("list").value(), "");
  EXPECT_FALSE(fields->Has("flag"));
}

TEST(ConfigFieldsTest, RefusesOptionalFieldsOfAnotherKind) {
  const auto fields =
      ConfigFields::Parse(R"({"flag": 1, "text": 7, "list": "LlamaForCausalLM", "mixed": [7]})");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(Sentence(fields->Flag("flag", true).status()),
            "field flag is 1; true or false is needed");
  EXPECT_EQ(Sentence(fields->Text("text", "").status()), "field text is 7; a string is needed");
  EXPECT_EQ(Sentence(fields->FirstText("list").status()),
            "field list is \"LlamaForCausalLM\" (a string); an array of strings is needed");
  EXPECT_EQ(Sentence(fields->FirstText("mixed").status()),
            "field mixed is 7; an array of strings is needed");
}

TEST(ConfigFieldsTest, ShowsLongAndUnprintableValuesOnOneShortLine) {
  const auto fields =
      ConfigFields::Parse("{\"d\": \"" + std::string(1000, 'x') + "\", \"n\": \"a\\nb\\u0000\"}");
  ASSERT_TRUE(fields.ok());
  EXPECT_LT(fields->Integer("d", 8).status().message().size(), 120);
  EXPECT_EQ(Sentence(fields->Integer("n", 8).status()),
            "field n is \"a\\nb\\u0000\" (a string); an integer from 1 to 8 is needed");
}

}  // namespace
}  // namespace fusebox
