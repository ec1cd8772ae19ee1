// `fusebox doctor`: what this machine has for Fusebox, each part with a verdict.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/config/config.h"
#include "runtime/tools/command.h"
#include "runtime/tools/doctor_checks.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/table.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Finding> Examine(const Environment& environment, ExitCode& exit_code) {
  const KnobsFinding knobs = CheckKnobs(environment);
  std::vector<Finding> findings = knobs.findings;
  const DriverFinding driver = CheckDriver();
  const NvrtcFinding nvrtc = CheckNvrtc(knobs.config);
  findings.push_back(driver.finding);
  for (Finding& finding : CheckGpus(driver, nvrtc)) findings.push_back(std::move(finding));
  findings.push_back(nvrtc.finding);
  findings.push_back(CheckPipeline(nvrtc));
  for (Finding& finding : CheckCaches(knobs.config)) findings.push_back(std::move(finding));

  const bool failed = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kFail;
  });
  const bool useless = driver.api == nullptr && nvrtc.api == nullptr;
  exit_code = failed ? ExitCode::kFailed : useless ? ExitCode::kMissing : ExitCode::kDone;
  return findings;
}

void PrintText(const Environment& environment, const std::vector<Finding>& findings) {
  Table checks({{"check"}, {"verdict"}, {"what"}});
  for (const Finding& finding : findings) {
    checks.AddRow({finding.subject, std::string(ToString(finding.verdict)), finding.sentence});
  }
  Table knobs({{"knob"}, {"value"}, {"from"}});
  for (const Knob& knob : Knobs()) {
    const std::string_view value = environment.Get(knob.name);
    knobs.AddRow({std::string(knob.name), std::string(value.empty() ? knob.default_value : value),
                  value.empty() ? "default" : "environment"});
  }
  std::printf("%s\n%s", checks.ToText().c_str(), knobs.ToText().c_str());
}

void PrintJson(const Environment& environment, const std::vector<Finding>& findings) {
  Json json = {{"checks", Json::array()}, {"knobs", Json::array()}};
  for (const Finding& finding : findings) {
    json["checks"].push_back({{"check", finding.subject},
                              {"verdict", ToString(finding.verdict)},
                              {"what", finding.sentence}});
  }
  for (const Knob& knob : Knobs()) {
    const std::string_view value = environment.Get(knob.name);
    json["knobs"].push_back({{"knob", knob.name},
                             {"value", value.empty() ? knob.default_value : value},
                             {"from", value.empty() ? "default" : "environment"}});
  }
  std::fputs(JsonText(json).c_str(), stdout);
}

}  // namespace

void AddDoctorCommand(CLI::App& app, ExitCode& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor", "Check driver, GPU, NVRTC, caches and knobs, each with a verdict");
  command->add_flag("--json", *json, "print JSON instead of tables");
  command->footer(
      "Exit codes: 0 nothing is wrong (a GPU or NVRTC may be absent), 1 a check says FAIL, 3 there "
      "is neither a "
      "driver to run kernels nor NVRTC to compile them. Leaves nothing behind.");
  command->callback([json, &exit_code] {
    const Environment environment = Environment::OfProcess();
    const std::vector<Finding> findings = Examine(environment, exit_code);
    *json ? PrintJson(environment, findings) : PrintText(environment, findings);
  });
}

}  // namespace fusebox
