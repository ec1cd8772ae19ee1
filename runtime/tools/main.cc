// The `fusebox` command: plans, compiles, checks and times kernels without an engine around them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "fusebox/fusebox.h"
#include "runtime/tools/command.h"

namespace {

// "fusebox warm: <what is wrong>; ...": CLI11's own message does not name the subcommands that
// there are.
std::string UsageMessage(const CLI::App* app, const CLI::Error& error) {
  std::string message = "fusebox";
  const CLI::App* chosen = app;
  while (!chosen->get_subcommands().empty()) {
    chosen = chosen->get_subcommands().front();
    message += " " + chosen->get_name();
  }
  message += std::string(": ") + error.what();
  if (app->get_subcommands().empty()) {
    message += "; accepted:";
    for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
      message += " " + command->get_name();
    }
  }
  return message + "\nRun with --help for more information.\n";
}

int Run(int argc, char** argv) {
  CLI::App app("Plans, compiles, checks and times Fusebox's kernels.", "fusebox");
  app.set_version_flag("--version", std::string("fusebox ") + fusebox_version());
  app.footer(std::string(fusebox::ExitCodeHelp()));
  app.require_subcommand(1);
  app.failure_message(UsageMessage);
  auto exit_code = fusebox::ExitCode::kDone;
  fusebox::AddWarmCommand(app, exit_code);
  fusebox::AddPlanCommand(app, exit_code);
  fusebox::AddCompileCommand(app, exit_code);
  fusebox::AddVerifyCommand(app, exit_code);
  fusebox::AddBenchCommand(app, exit_code);
  fusebox::AddDoctorCommand(app, exit_code);
  fusebox::AddCacheCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has codes of its own; --help and --version are 0.
    return app.exit(error) == 0 ? 0 : static_cast<int>(fusebox::ExitCode::kUsage);
  }
  return static_cast<int>(exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {  // out of memory: nothing of ours throws
    std::fprintf(stderr, "fusebox: %s\n", error.what());
    return static_cast<int>(fusebox::ExitCode::kFailed);
  }
}
