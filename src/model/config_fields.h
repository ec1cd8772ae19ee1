// ConfigFields reads single fields of a JSON object and says, for each that is missing or absurd,
// its name, its value and what is accepted. Invariant: any text gives fields or a sentence; nothing
// in it can crash the reader. A value; no threads.
#ifndef FUSEBOX_SRC_MODEL_CONFIG_FIELDS_H_
#define FUSEBOX_SRC_MODEL_CONFIG_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace fusebox {

constexpr size_t kMaxConfigBytes =
    size_t{4} << 20;  // real ones are below 8 KiB; tokenizers by mistake are larger

class ConfigFields {
 public:
  // InvalidArgument with line and column when `text` is truncated or not JSON, and when it is no
  // object.
  static absl::StatusOr<ConfigFields> Parse(std::string_view text);

  bool Has(std::string_view field)
      const;  // present and not null: Hugging Face writes null for "the default"

  // REQUIRED: an integer from 1 to `limit`. 4096.0, "4096" and true are refused: a reader that
  // guesses plans wrong ops.
  absl::StatusOr<int64_t> Integer(std::string_view field, int64_t limit) const;

  // Optional: the default where the field is missing or null.
  absl::StatusOr<int64_t> Count(std::string_view field, int64_t default_value,
                                int64_t limit) const;  // an integer from 0 to `limit`
  absl::StatusOr<double> Fraction(std::string_view field,
                                  double default_value) const;  // between 0 and 1, neither of them
  absl::StatusOr<bool> Flag(std::string_view field, bool default_value) const;
  absl::StatusOr<std::string> Text(std::string_view field, std::string_view default_value) const;

  // The first string of an array of strings; "" where the field is missing, null or empty.
  absl::StatusOr<std::string> FirstText(std::string_view field) const;

  // Integers from 0 to `limit`; none where the field is missing or null.
  absl::StatusOr<std::vector<int64_t>> Counts(std::string_view field, int64_t limit) const;

  // REQUIRED: an object, as the fields in it.
  absl::StatusOr<ConfigFields> Object(std::string_view field) const;

 private:
  explicit ConfigFields(nlohmann::json object) : object_(std::move(object)) {}
  const nlohmann::json* Find(std::string_view field) const;  // nullptr where Has is false

  nlohmann::json object_;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_CONFIG_FIELDS_H_
