#include "src/base/strict_json.h"

#include <limits>
#include <vector>

#include "absl/strings/str_split.h"

namespace fusebox {
namespace {

constexpr size_t kMaxTextBytes = 256 * 1024;  // our largest profile is below 16 KiB
constexpr size_t kMaxDepth = 8;               // ours are 4 deep; a bound for hostile text

// Finds where a text stops being JSON, and keys that occur twice in one object.
class SyntaxCheck : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string error;  // empty: the text is fine

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool start_object(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    error = absl::StrCat("has the key \"", name, "\" twice");
    return false;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error = absl::StrCat("is not JSON from byte ", position, " on");
    return false;
  }

 private:
  bool Open() {
    keys_.emplace_back();
    if (keys_.size() <= kMaxDepth) return true;
    error = absl::StrCat("is nested deeper than ", kMaxDepth, " levels");
    return false;
  }
  bool Close() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

absl::StatusOr<StrictJson> StrictJson::Parse(std::string_view text, std::string_view what) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": has ", text.size(), " bytes; at most ", kMaxTextBytes, " are read"));
  }
  SyntaxCheck check;
  if (!nlohmann::json::sax_parse(text, &check) || !check.error.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the text ", check.error));
  }
  nlohmann::json root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the text is a JSON ", root.type_name(), "; an object is expected"));
  }
  return StrictJson(std::string(what), std::move(root));
}

void StrictJson::Fail(std::string_view path, std::string_view sentence) {
  status_.Update(absl::InvalidArgumentError(absl::StrCat(what_, ": ", path, " ", sentence)));
}

const nlohmann::json* StrictJson::Find(std::string_view path) {
  read_.emplace(path);
  const nlohmann::json* node = &root_;
  for (std::string_view name : absl::StrSplit(path, '.')) {
    const auto next = node->is_object() ? node->find(std::string(name)) : node->end();
    if (next == node->end()) {
      Fail(path, "is missing");
      return nullptr;
    }
    node = &*next;
  }
  return node;
}

int64_t StrictJson::Integer(std::string_view path, int64_t min, int64_t max) {
  const nlohmann::json* node = Find(path);
  if (node == nullptr) return min;
  if (!node->is_number_integer()) {
    Fail(path, absl::StrCat("is a ", node->is_number() ? "fraction" : node->type_name(),
                            "; an integer is expected"));
    return min;
  }
  const bool too_large = node->is_number_unsigned() &&
                         node->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  const int64_t value = too_large ? std::numeric_limits<int64_t>::max() : node->get<int64_t>();
  if (too_large || value < min || value > max) {
    Fail(path, absl::StrCat("is ", node->dump(), "; accepted: ", min, " to ", max));
    return min;
  }
  return value;
}

double StrictJson::Number(std::string_view path, double min, double max) {
  const nlohmann::json* node = Find(path);
  if (node == nullptr) return min;
  if (!node->is_number()) {
    Fail(path, absl::StrCat("is a ", node->type_name(), "; a number is expected"));
    return min;
  }
  const double value = node->get<double>();
  if (!(value >= min && value <= max)) {
    Fail(path, absl::StrCat("is ", node->dump(), "; accepted: ", min, " to ", max));
    return min;
  }
  return value;
}

std::string StrictJson::String(std::string_view path) {
  const nlohmann::json* node = Find(path);
  if (node == nullptr) return "";
  if (!node->is_string()) {
    Fail(path, absl::StrCat("is a ", node->type_name(), "; a string is expected"));
    return "";
  }
  std::string text = node->get<std::string>();
  if (text.empty()) Fail(path, "is an empty string");
  return text;
}

void StrictJson::FindUnread(const nlohmann::json& node, const std::string& path,
                            std::string* unread) const {
  if (!unread->empty()) return;
  if (!node.is_object() || (node.empty() && !path.empty())) {
    if (!read_.contains(path)) *unread = path;
    return;
  }
  for (const auto& [name, child] : node.items()) {
    FindUnread(child, path.empty() ? name : absl::StrCat(path, ".", name), unread);
  }
}

absl::Status StrictJson::Finish() const {
  if (!status_.ok()) return status_;
  std::string unread;
  FindUnread(root_, "", &unread);
  if (unread.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what_, ": ", absl::CHexEscape(unread.substr(0, 80)), " is no field that is known"));
}

}  // namespace fusebox
