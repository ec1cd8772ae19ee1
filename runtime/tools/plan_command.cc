// `fusebox plan`: explains how one op, or each op of a model, is planned: cost terms, runners-up,
// refused rules, and the ladder.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/command.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/op_options.h"
#include "runtime/tools/plan_file.h"
#include "runtime/tools/plan_report.h"
#include "runtime/tools/plan_sample.h"
#include "runtime/tools/rule_list.h"
#include "runtime/tools/table.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxSample = 100'000;  // more than any op has plans

struct PlanOptions {
  ModelOptions model;
  OpOptions op;
  std::string gpu;
  bool rules = false;  // list them, plan nothing
  bool json = false;
  int sample = 0;  // plans of each op to print, instead of the explanation; 0: explain
};

// An op, and the model or shape it belongs to; empty for an op that has no name.
struct OpToPlan {
  std::string model;
  ModelOp op;
};

// The ops to explain: the models', or those given by their dims, at each token tile.
absl::StatusOr<std::vector<OpToPlan>> OpsToPlan(const PlanOptions& options) {
  std::vector<OpToPlan> ops;
  if (options.model.model_files.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<NamedShape> shapes,
                             ShapesFrom(options.model, options.op));
    for (const NamedShape& shape : shapes) {
      FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelOp> tiled,
                               OpsOfProblem(shape.problem, options.model.tokens));
      for (const ModelOp& op : tiled) ops.push_back({.model = shape.name, .op = op});
    }
    return ops;
  }
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelRequest> requests,
                           ReadModelRequests(options.model));
  for (const ModelRequest& request : requests) {
    if (!request.declined.ok()) {
      ops.push_back(
          {.model = request.model,
           .op = {.name = request.model, .tokens = options.model.tokens, .op = request.declined}});
    }
    for (ModelOp op : request.ops) {
      if (op.op.ok()) {
        FUSEBOX_RETURN_IF_ERROR(ApplyVariant(options.op, op.op->problem));
        op.name = op.op->problem.Name();
      }
      ops.push_back({.model = request.model, .op = std::move(op)});
    }
  }
  return ops;
}

absl::StatusOr<std::vector<LadderRung>> Explain(const ModelOp& op, const DeviceSpec& gpu,
                                                const PlanOverrides& overrides) {
  if (!op.op.ok()) return op.op.status();
  return ChooseLadder(op.op->problem, op.op->token_tile, gpu, overrides);
}

void PrintRules(const PlanOptions& options) {
  Table table({{"rule"}, {"about"}, {"holds when"}, {"what helps"}});
  Json json = Json::array();
  for (const RuleText& rule : RuleList()) {
    table.AddRow({std::string(rule.name), std::string(rule.about), std::string(rule.holds),
                  std::string(rule.help)});
    json.push_back(
        {{"rule", rule.name}, {"about", rule.about}, {"holds", rule.holds}, {"help", rule.help}});
  }
  std::fputs(options.json ? JsonText(json).c_str() : (table.ToText() + "\n").c_str(), stdout);
}

// Prints a plan a line, as ReadPlanFile takes them; what is declined has none, and is said on
// stderr.
absl::Status PrintSample(const OpToPlan& to_plan, const DeviceSpec& gpu,
                         const PlanOverrides& overrides, int max_plans) {
  const absl::StatusOr<std::vector<LadderRung>> ladder = Explain(to_plan.op, gpu, overrides);
  if (!ladder.ok()) {
    if (!IsDeclined(ladder.status())) return ladder.status();
    std::fprintf(stderr, "fusebox plan: %s: declined: %s\n", to_plan.op.name.c_str(),
                 std::string(ladder.status().message()).c_str());
    return absl::OkStatus();
  }
  const FusionPlan& chosen = ladder->front().report.best.plan;
  for (const FusionPlan& plan : SamplePlans(chosen, gpu, static_cast<size_t>(max_plans))) {
    const GivenPlan line = {.plan = plan,
                            .model = to_plan.model,
                            .tokens = to_plan.op.op->token_tile,
                            .is_chosen = plan == chosen};
    std::fputs(PlanFileLine(line).c_str(), stdout);
  }
  return absl::OkStatus();
}

absl::Status RunPlan(const PlanOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(const Config config, ReadConfig(Environment::OfProcess()));
  PrintWarnings("plan", config);
  if (options.rules) {
    PrintRules(options);
    return absl::OkStatus();
  }
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(PlanOverrides overrides, ReadOverrides(config));
  // What fusion_pays declines is explained like the rest, with the verdict in the report.
  const SlowerPlans slower = std::exchange(overrides.slower, SlowerPlans::kServe);
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<OpToPlan> ops, OpsToPlan(options));
  if (options.sample > 0) {
    for (const OpToPlan& to_plan : ops) {
      FUSEBOX_RETURN_IF_ERROR(PrintSample(to_plan, gpu, overrides, options.sample));
    }
    return absl::OkStatus();
  }
  Json all = Json::array();
  bool any_planned = false;
  for (const auto& [model, op] : ops) {
    const absl::StatusOr<std::vector<LadderRung>> ladder = Explain(op, gpu, overrides);
    if (!ladder.ok() && !IsDeclined(ladder.status())) return ladder.status();
    any_planned = any_planned || ladder.ok();
    if (options.json) {
      all.push_back(PlanReportJson(op, gpu, ladder, slower));
    } else {
      std::fputs(PlanReportText(op, gpu, ladder, slower).c_str(), stdout);
    }
  }
  if (options.json) std::fputs(JsonText(all).c_str(), stdout);
  if (!options.json && any_planned) std::fputs(std::string(PlanCodeHelp()).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddPlanCommand(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Explain how an op is planned: cost terms, runners-up, refused rules");
  AddModelOptions(*command, options->model);
  AddBareOption(*command, options->model);
  AddGpuOption(*command, options->gpu);
  AddOpOptions(*command, options->op);
  command->add_flag("--rules", options->rules, "list the rules that can decline an op, and stop");
  command->add_flag("--json", options->json, "print JSON instead of tables");
  command
      ->add_option(
          "--sample", options->sample,
          "instead of explaining, print the chosen plan and others of each op, spread over "
          "dataflows, cluster shapes and predicted times: N in all, one JSON a line, for "
          "warm --plans and bench --plans")
      ->check(CLI::Range(1, kMaxSample))
      ->excludes("--json")
      ->excludes("--rules")
      ->type_name("N");
  command->footer(std::string(ExitCodeHelp()));
  command->callback([options, &exit_code] {
    const absl::Status status = RunPlan(*options);
    exit_code = status.ok() ? ExitCode::kDone : Complain("plan", status);
  });
}

}  // namespace fusebox
