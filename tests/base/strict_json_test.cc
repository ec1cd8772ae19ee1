#include "src/base/strict_json.h"

#include <gtest/gtest.h>

#include <string>

namespace fusebox {
namespace {

// What reading {"a": integer 1..10, "b": {"c": number 0..1, "d": string}} says about `text`.
std::string Verdict(std::string_view text) {
  absl::StatusOr<StrictJson> json = StrictJson::Parse(text, "thing");
  if (!json.ok()) return std::string(json.status().message());
  json->Integer("a", 1, 10);
  json->Number("b.c", 0, 1);
  json->String("b.d");
  return std::string(json->Finish().message());
}

TEST(StrictJsonTest, SaysWhatIsWrong) {
  const struct {
    std::string_view text;
    std::string_view sentence;
  } kCases[] = {
      {R"({"a": 3, "b": {"c": 0.5, "d": "x"}})", ""},
      {R"({"a": 3, "b": {"c": 1, "d": "x"}})", ""},
      {R"({"a": 3, "b": {"c": 0.5}})", "thing: b.d is missing"},
      {R"({"a": 3, "b": 4})", "thing: b.c is missing"},
      {R"({"a": 11, "b": {"c": 0.5, "d": "x"}})", "thing: a is 11; accepted: 1 to 10"},
      {R"({"a": -1, "b": {"c": 0.5, "d": "x"}})", "thing: a is -1; accepted: 1 to 10"},
      {R"({"a": 18446744073709551615, "b": {"c": 0.5, "d": "x"}})",
       "thing: a is 18446744073709551615; accepted: 1 to 10"},
      {R"({"a": 3.0, "b": {"c": 0.5, "d": "x"}})",
       "thing: a is a fraction; an integer is expected"},
      {R"({"a": "3", "b": {"c": 0.5, "d": "x"}})", "thing: a is a string; an integer is expected"},
      {R"({"a": 3, "b": {"c": 1.5, "d": "x"}})", "thing: b.c is 1.5; accepted: 0 to 1"},
      {R"({"a": 3, "b": {"c": null, "d": "x"}})", "thing: b.c is a null; a number is expected"},
      {R"({"a": 3, "b": {"c": 0.5, "d": ""}})", "thing: b.d is an empty string"},
      {R"({"a": 3, "b": {"c": 0.5, "d": 7}})", "thing: b.d is a number; a string is expected"},
      {R"({"a": 3, "b": {"c": 0.5, "d": "x", "e": 1}})", "thing: b.e is no field that is known"},
      {R"({"a": 3, "b": {"c": 0.5, "d": "x"}, "z": {}})", "thing: z is no field that is known"},
      {R"({"a": 3, "a": 4, "b": {"c": 0.5, "d": "x"}})", "thing: the text has the key \"a\" twice"},
      {R"({"a": 3)", "thing: the text is not JSON from byte 8 on"},
      {R"({"a": 3} x)", "thing: the text is not JSON from byte 10 on"},
      {R"([1])", "thing: the text is a JSON array; an object is expected"},
      {"", "thing: the text is not JSON from byte 1 on"},
      {R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}})",
       "thing: the text is nested deeper than 8 levels"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Verdict(c.text), c.sentence) << c.text;
}

TEST(StrictJsonTest, RefusesATextBeyondTheLimit) {
  EXPECT_EQ(Verdict(std::string(300000, ' ')), "thing: has 300000 bytes; at most 262144 are read");
}

TEST(StrictJsonTest, AChoiceListsWhatItAccepts) {
  constexpr std::pair<std::string_view, int> kChoices[] = {{"one", 1}, {"two", 2}};
  absl::StatusOr<StrictJson> json = StrictJson::Parse(R"({"n": "two", "m": "six"})", "thing");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Choice<int>("n", kChoices), 2);
  json->Choice<int>("m", kChoices);
  EXPECT_EQ(json->Finish().message(), "thing: m is \"six\"; accepted: one, two");
}

}  // namespace
}  // namespace fusebox
