// JsonText prints JSON as every command does, with a newline at its end. Text that is no UTF-8 (a
// path, a compiler's log) is printed with replacement characters. Pure.
#ifndef FUSEBOX_RUNTIME_TOOLS_JSON_TEXT_H_
#define FUSEBOX_RUNTIME_TOOLS_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace fusebox {

constexpr int kOnOneLine = -1;

inline std::string JsonText(const nlohmann::ordered_json& json, int indent = 2) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_JSON_TEXT_H_
