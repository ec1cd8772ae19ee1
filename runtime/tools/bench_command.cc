#include <CLI/CLI.hpp>

#include "runtime/tools/command.h"

namespace fusebox {

void AddBenchCommand(CLI::App& app, ExitCode& exit_code) {
  app.add_subcommand("bench", "x")->callback([&exit_code] { exit_code = ExitCode::kFailed; });
}

}  // namespace fusebox
