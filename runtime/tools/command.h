// The seam of the `fusebox` command: every subcommand is one file with one Add...Command function.
// It adds its options to `app`; when the user chose it, it runs at the end of parsing and leaves
// its result in `exit_code`. Invariant: tables and JSON go to stdout, progress and errors to
// stderr, so that --json can be piped. Called from main's thread only.
#ifndef FUSEBOX_RUNTIME_TOOLS_COMMAND_H_
#define FUSEBOX_RUNTIME_TOOLS_COMMAND_H_

#include <string_view>

#include "absl/status/status.h"
#include "runtime/config/config.h"

namespace CLI {
class App;
}

namespace fusebox {

enum class ExitCode : int {
  kDone = 0,     // everything asked for was done, or declined by a rule
  kFailed = 1,   // work failed: a compile, a write, a wrong result
  kUsage = 2,    // what was given is wrong: an option, a GPU name, a model file
  kMissing = 3,  // needs a GPU, driver or NVRTC that is not there
};

void AddWarmCommand(CLI::App& app, ExitCode& exit_code);
void AddPlanCommand(CLI::App& app, ExitCode& exit_code);
void AddCompileCommand(CLI::App& app, ExitCode& exit_code);
void AddVerifyCommand(CLI::App& app, ExitCode& exit_code);
void AddBenchCommand(CLI::App& app, ExitCode& exit_code);
void AddDoctorCommand(CLI::App& app, ExitCode& exit_code);
void AddCacheCommand(CLI::App& app, ExitCode& exit_code);

// InvalidArgument and NotFound: kUsage. FailedPrecondition and Unavailable: kMissing. Declined:
// kDone. Others: kFailed.
ExitCode ExitCodeOf(const absl::Status& status);

// Prints what ReadConfig warns of, FUSEBOX_ names that are no knobs, to stderr.
void PrintWarnings(std::string_view command, const Config& config);

// Prints "fusebox <command>: <sentence>" to stderr and gives the code.
ExitCode Complain(std::string_view command, const absl::Status& status);

// The exit codes, for --help.
std::string_view ExitCodeHelp();

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_COMMAND_H_
