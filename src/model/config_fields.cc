#include "src/model/config_fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

using Json = nlohmann::json;

// Accepts everything and remembers where the parser stopped. The document parser itself gives no
// position when it may not throw, so a text that it discarded is read a second time with this.
class ErrorPosition final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }
  std::size_t position() const { return position_; }  // bytes read, the offending one included

 private:
  std::size_t position_ = 0;
};

absl::Status NotJson(std::string_view text) {
  ErrorPosition reader;
  Json::sax_parse(text, &reader);
  if (reader.position() == 0 || reader.position() > text.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the text ends after ", text.size(),
        " bytes, inside a JSON value (truncated?); a config.json is one whole JSON object"));
  }
  const std::string_view before = text.substr(0, reader.position() - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return absl::InvalidArgumentError(absl::StrCat("not JSON at line ", line, ", column ",
                                                 before.size() - line_start + 1,
                                                 "; a config.json is one JSON object"));
}

// The value as JSON text on one line, short enough for a sentence, with what kind of value it is.
std::string Shown(const Json& value) {
  constexpr size_t kMaxShown = 40;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = absl::StrCat(text.substr(0, kMaxShown), "...");
  if (value.is_string()) return absl::StrCat(text, " (a string)");
  return text;
}

absl::Status Unfit(std::string_view field, const Json& value, std::string_view accepted,
                   std::string_view remark = "") {
  return absl::InvalidArgumentError(
      absl::StrCat("field ", field, " is ", Shown(value), remark, "; ", accepted, " is needed"));
}

std::string Range(int64_t least, int64_t limit) {
  return absl::StrCat("an integer from ", least, " to ", limit);
}

absl::StatusOr<int64_t> IntegerFrom(std::string_view field, const Json& value, int64_t least,
                                    int64_t limit) {
  // Above 2^63 the value is unsigned; below zero it is signed. Either way it must not wrap before
  // it is judged.
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number >= static_cast<uint64_t>(least) && number <= static_cast<uint64_t>(limit)) {
      return static_cast<int64_t>(number);
    }
  }
  return Unfit(field, value, Range(least, limit),
               value.is_number_float() ? " (not an integer)" : "");
}

}  // namespace

absl::StatusOr<ConfigFields> ConfigFields::Parse(std::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the text has ", text.size(), " bytes and a config.json at most ", kMaxConfigBytes,
        "; give the model's config.json, not its weights or tokenizer"));
  }
  Json object = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return NotJson(text);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JSON text is ", Shown(object), "; a config.json is one JSON object"));
  }
  return ConfigFields(std::move(object));
}

const Json* ConfigFields::Find(std::string_view field) const {
  const auto found = object_.find(std::string(field));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigFields::Has(std::string_view field) const { return Find(field) != nullptr; }

absl::StatusOr<int64_t> ConfigFields::Integer(std::string_view field, int64_t limit) const {
  const Json* value = Find(field);
  if (value != nullptr) return IntegerFrom(field, *value, 1, limit);
  return absl::InvalidArgumentError(
      absl::StrCat("field ", field, " is missing; ", Range(1, limit), " is needed"));
}

absl::StatusOr<int64_t> ConfigFields::Count(std::string_view field, int64_t default_value,
                                            int64_t limit) const {
  const Json* value = Find(field);
  if (value == nullptr) return default_value;
  return IntegerFrom(field, *value, 0, limit);
}

absl::StatusOr<double> ConfigFields::Fraction(std::string_view field, double default_value) const {
  const Json* value = Find(field);
  if (value == nullptr) return default_value;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (number > 0 && number < 1) return number;
  return Unfit(field, *value, "a number between 0 and 1");
}

absl::StatusOr<bool> ConfigFields::Flag(std::string_view field, bool default_value) const {
  const Json* value = Find(field);
  if (value == nullptr) return default_value;
  if (!value->is_boolean()) return Unfit(field, *value, "true or false");
  return value->get<bool>();
}

absl::StatusOr<std::string> ConfigFields::Text(std::string_view field,
                                               std::string_view default_value) const {
  const Json* value = Find(field);
  if (value == nullptr) return std::string(default_value);
  if (!value->is_string()) return Unfit(field, *value, "a string");
  return value->get<std::string>();
}

absl::StatusOr<std::string> ConfigFields::FirstText(std::string_view field) const {
  const Json* value = Find(field);
  if (value == nullptr) return std::string();
  if (!value->is_array()) return Unfit(field, *value, "an array of strings");
  if (value->empty()) return std::string();
  if (!value->front().is_string()) return Unfit(field, value->front(), "an array of strings");
  return value->front().get<std::string>();
}

absl::StatusOr<std::vector<int64_t>> ConfigFields::Counts(std::string_view field,
                                                          int64_t limit) const {
  std::vector<int64_t> counts;
  const Json* value = Find(field);
  if (value == nullptr) return counts;
  if (!value->is_array()) return Unfit(field, *value, "an array of integers");
  for (const Json& item : *value) {
    FUSEBOX_ASSIGN_OR_RETURN(const int64_t count, IntegerFrom(field, item, 0, limit));
    counts.push_back(count);
  }
  return counts;
}

absl::StatusOr<ConfigFields> ConfigFields::Object(std::string_view field) const {
  const Json* value = Find(field);
  if (value == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("field ", field, " is missing; an object is needed"));
  }
  if (!value->is_object()) return Unfit(field, *value, "an object");
  return ConfigFields(*value);
}

}  // namespace fusebox
