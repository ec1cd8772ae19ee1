// Environment is the process's environment, read once, as a value; tests make their own.
// This folder holds the only reads of the environment in Fusebox. Thread-safe as long as nobody
// calls setenv meanwhile.
#ifndef FUSEBOX_RUNTIME_CONFIG_ENVIRONMENT_H_
#define FUSEBOX_RUNTIME_CONFIG_ENVIRONMENT_H_

#include <map>
#include <string>
#include <string_view>

namespace fusebox {

class Environment {
 public:
  static Environment OfProcess();
  static Environment FromVariables(std::map<std::string, std::string> variables);

  // Empty where the variable is not set: an empty variable means "not set" throughout.
  std::string_view Get(std::string_view name) const;
  const std::map<std::string, std::string>& variables() const { return variables_; }

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CONFIG_ENVIRONMENT_H_
