// RunCommand runs the built `fusebox` command as a person would, with a cache of its own, and keeps
// what it printed. Invariant: the command is the one beside this test program; its environment is
// the test's, with FUSEBOX_ variables only from `knobs`. Not thread-safe: the working folder's
// temporary files are named by process.
#ifndef FUSEBOX_TESTS_TOOLS_COMMAND_RUNNER_H_
#define FUSEBOX_TESTS_TOOLS_COMMAND_RUNNER_H_

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fusebox {

struct CommandResult {
  int exit_code = -1;  // -1: it died of a signal
  std::string out;
  std::string err;
  double seconds = 0;

  nlohmann::json Json() const {
    return nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  }
};

using KnobSettings = std::map<std::string, std::string>;

// build/<preset>/bin/fusebox
std::string CommandPath();

CommandResult RunCommand(const std::vector<std::string>& arguments, const KnobSettings& knobs = {});
// The same for another program.
CommandResult RunProgram(const std::string& path, const std::vector<std::string>& arguments,
                         const KnobSettings& environment);

// A folder that is gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path(const std::string& name = "") const;

 private:
  std::filesystem::path path_;
};

void WriteText(const std::string& path, const std::string& text);
std::string ReadText(const std::string& path);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_TOOLS_COMMAND_RUNNER_H_
