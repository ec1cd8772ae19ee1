#include "runtime/tools/command.h"

#include <cstdio>
#include <string>

#include "src/base/status.h"

namespace fusebox {

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok() || IsDeclined(status)) return ExitCode::kDone;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return ExitCode::kUsage;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return ExitCode::kMissing;
    default:
      return ExitCode::kFailed;
  }
}

void PrintWarnings(std::string_view command, const Config& config) {
  for (const std::string& warning : config.warnings) {
    std::fprintf(stderr, "fusebox %s: warning: %s\n", std::string(command).c_str(),
                 warning.c_str());
  }
}

ExitCode Complain(std::string_view command, const absl::Status& status) {
  std::fprintf(stderr, "fusebox %s: %s\n", std::string(command).c_str(),
               std::string(status.message()).c_str());
  return ExitCodeOf(status);
}

std::string_view ExitCodeHelp() {
  return "Exit codes: 0 done (or declined by a rule), 1 failed, 2 usage (an option, a GPU name, a "
         "model file), "
         "3 needs a GPU, driver or NVRTC that is not there.";
}

}  // namespace fusebox
