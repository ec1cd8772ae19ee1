#include "tests/tools/command_runner.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace fusebox {
namespace {

namespace fs = std::filesystem;

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

// build/<preset>/bin/tests/<this program> -> build/<preset>/bin/fusebox
std::string CommandPath() {
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "fusebox")
      .string();
}

CommandResult RunCommand(const std::vector<std::string>& arguments, const KnobSettings& knobs) {
  return RunProgram(CommandPath(), arguments, knobs);
}

CommandResult RunProgram(const std::string& path, const std::vector<std::string>& arguments,
                         const KnobSettings& environment) {
  const TemporaryFolder folder;
  std::string line = "env $(env | sed -n 's/^\\(FUSEBOX_[A-Z_]*\\)=.*/-u \\1/p')";
  line += " XDG_CACHE_HOME=" + Quoted(folder.path("cache"));
  for (const auto& [name, value] : environment) line += " " + name + "=" + Quoted(value);
  line += " " + Quoted(path);
  for (const std::string& argument : arguments) line += " " + Quoted(argument);
  line += " >" + Quoted(folder.path("out")) + " 2>" + Quoted(folder.path("err"));
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(line.c_str());
  CommandResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The shell reports a death by signal n as 128 + n.
  if (WIFEXITED(status) && WEXITSTATUS(status) < 128) result.exit_code = WEXITSTATUS(status);
  result.out = ReadText(folder.path("out"));
  result.err = ReadText(folder.path("err"));
  return result;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "fusebox-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TemporaryFolder::path(const std::string& name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace fusebox
