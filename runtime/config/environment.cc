#include "runtime/config/environment.h"

#include <unistd.h>

#include <utility>

namespace fusebox {

Environment Environment::OfProcess() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.variables_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Environment Environment::FromVariables(std::map<std::string, std::string> variables) {
  Environment environment;
  environment.variables_ = std::move(variables);
  return environment;
}

std::string_view Environment::Get(std::string_view name) const {
  const auto it = variables_.find(std::string(name));
  return it == variables_.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace fusebox
