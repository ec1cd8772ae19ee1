// `fusebox plan`: explains how one op, or each op of a model, is planned: cost terms, runners-up,
// refused rules.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/config/config.h"
#include "runtime/tools/command.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/op_options.h"
#include "runtime/tools/rule_list.h"
#include "runtime/tools/table.h"
#include "src/base/status.h"
#include "src/plan/ladder.h"
#include "src/plan/search.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

struct PlanOptions {
  ModelOptions model;
  OpOptions op;
  std::string gpu;
  bool rules = false;  // list them, plan nothing
  bool json = false;
};

constexpr char kPlanCode[] =
    "plan code, for example c8x14 t8 up128x128/2 down2x256x128 wg2 ring3/2+8 p50000 dsm_gather:\n"
    "  c8x14          14 clusters of 8 CTAs\n"
    "  t8             compiled for up to 8 tokens\n"
    "  up128x128/2    a CTA makes 128 intermediate rows, from 128 of hidden at a time; /2: two\n"
    "                 warpgroups share those 128\n"
    "  down2x256x128  then 2 passes of 256 output rows, from 128 of the intermediate at a time\n"
    "  wg2            2 warpgroups multiply; one more copies\n"
    "  ring3/2+8      3 slots for weights, 2 of them in flight at most, and 8 for activations\n"
    "  p50000         a sum's owner waits up to 50000 cycles for the other clusters' parts; left\n"
    "                 out: the last to come adds\n"
    "  dsm_gather     the intermediate reaches the cluster through distributed shared memory\n";

// The ops to explain: the model's, or the one given by its dims, at each token tile.
absl::StatusOr<std::vector<ModelOp>> OpsToPlan(const PlanOptions& options) {
  std::vector<ModelOp> ops;
  if (options.model.model_files.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const FfnProblem fields, ProblemFrom(options.model, options.op));
    return OpsOfProblem(fields, options.model.tokens);
  }
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelRequest> requests,
                           ReadModelRequests(options.model));
  for (const ModelRequest& request : requests) {
    if (!request.declined.ok()) {
      ops.push_back(
          {.name = request.model, .tokens = options.model.tokens, .op = request.declined});
    }
    for (ModelOp op : request.ops) {
      if (op.op.ok()) {
        FUSEBOX_RETURN_IF_ERROR(ApplyVariant(options.op, op.op->problem));
        op.name = op.op->problem.Name();
      }
      ops.push_back(std::move(op));
    }
  }
  return ops;
}

absl::StatusOr<SearchReport> Explain(const ModelOp& op, const DeviceSpec& gpu) {
  if (!op.op.ok()) return op.op.status();
  return Search(op.op->problem, op.op->token_tile, gpu);
}

// The plans that follow on a GPU that holds less at once than its profile says. REQUIRES: the op is
// planned.
std::vector<LadderRung> LowerRungs(const ModelOp& op, const DeviceSpec& gpu) {
  absl::StatusOr<std::vector<LadderRung>> ladder =
      BuildLadder(op.op->problem, op.op->token_tile, gpu);
  if (!ladder.ok()) return {};
  ladder->erase(ladder->begin());
  return *std::move(ladder);
}

Json LowerRungsJson(const ModelOp& op, const DeviceSpec& gpu) {
  Json rungs = Json::array();
  for (const LadderRung& rung : LowerRungs(op, gpu)) {
    const RankedPlan& best = rung.report.best;
    rungs.push_back({{"summary", best.plan.Summary()},
                     {"us", best.cost.us()},
                     {"clusters_needed", ClustersNeeded(best.plan, rung.residency)}});
  }
  return rungs;
}

// Whether Search passed a plan by that is predicted faster: costs within the model's resolution are
// ties, and an order of preference decides among them (src/plan/preference.h).
bool ChosenByPreference(const SearchReport& report) {
  return std::any_of(
      report.runners_up.begin(), report.runners_up.end(),
      [&](const RankedPlan& ranked) { return ranked.cost.us() < report.best.cost.us(); });
}

Json ReportJson(const ModelOp& op, const DeviceSpec& gpu,
                const absl::StatusOr<SearchReport>& report) {
  Json json = {{"op", op.name}, {"gpu", gpu.name}, {"tokens", op.tokens}};
  if (!report.ok()) {
    const Decline decline = SplitDecline(report.status().message());
    json["declined"] = std::string(report.status().message());
    json["rule"] = decline.rule;
    json["sentence"] = decline.sentence;
    return json;
  }
  json["token_tile"] = op.op->token_tile;
  json["chosen_by"] = ChosenByPreference(*report) ? "preference among ties" : "cost";
  json["search"] = Json::parse(report->ToJson(), nullptr, /*allow_exceptions=*/false);
  json["lower_rungs"] = LowerRungsJson(op, gpu);
  return json;
}

// One row a term, in the order in which they add up; a phase shows what it is made of.
std::string CostText(const CostBreakdown& cost) {
  Table table({{"term"}, {"us", Align::kRight}, {"of it"}});
  const Json terms = Json::parse(cost.ToJson(), nullptr, /*allow_exceptions=*/false);
  for (const auto& [name, value] : terms.items()) {
    if (name == "us" || name == "floor_us" || name == "ratio") continue;
    if (value.is_number()) {
      table.AddRow(
          {std::string(absl::StripSuffix(name, "_us")), Fixed(value.get<double>(), 2), ""});
      continue;
    }
    std::string parts = "root of squares of";
    for (const auto& [part, us] : value.items()) {
      if (part != "us" && us.is_number() && us != 0) {
        absl::StrAppend(&parts, " ", absl::StripSuffix(part, "_us"), " ",
                        Fixed(us.template get<double>(), 2));
      }
    }
    table.AddRow({name, Fixed(value.value("us", 0.0), 2), parts});
  }
  return table.ToText();
}

std::string RunnersUpText(const SearchReport& report) {
  Table table({{"runner-up"}, {"us", Align::kRight}, {"slower", Align::kRight}});
  for (const RankedPlan& ranked : report.runners_up) {
    table.AddRow(
        {ranked.plan.Summary(), Fixed(ranked.cost.us(), 2),
         absl::StrCat(Fixed(100 * (ranked.cost.us() / report.best.cost.us() - 1), 1), " %")});
  }
  return table.ToText();
}

std::string RefusedText(const SearchReport& report) {
  Table table({{"rule"}, {"refused", Align::kRight}, {"for example"}});
  for (const RefusedCount& count : report.refused) {
    table.AddRow({count.rule, absl::StrCat(count.candidates),
                  absl::StrCat(count.example, ": ", count.sentence)});
  }
  return table.ToText();
}

void PrintReport(const ModelOp& op, const DeviceSpec& gpu,
                 const absl::StatusOr<SearchReport>& report) {
  if (!report.ok()) {
    const std::string message(report.status().message());
    std::printf("%s: declined: %s\n", op.name.c_str(), message.c_str());
    const std::string help(HelpFor(SplitDecline(message).rule));
    if (!help.empty()) std::printf("what helps: %s\n", help.c_str());
    std::printf("\n");
    return;
  }
  const CostBreakdown& cost = report->best.cost;
  std::printf("%s, token tile %d, on %s\n", op.name.c_str(), op.op->token_tile, gpu.name.c_str());
  std::printf("plan       %s\n", report->best.plan.Summary().c_str());
  std::printf("predicted  %.2f us, floor %.2f us, ratio %.2f\n", cost.us(), cost.floor_us,
              cost.us() / cost.floor_us);
  if (ChosenByPreference(*report)) {
    std::printf(
        "chosen by  preference among ties: plans within %s %% of the cheapest count as equal\n",
        Fixed(100 * gpu.model_resolution, 0).c_str());
  } else {
    std::printf("chosen by  cost\n");
  }
  for (const LadderRung& rung : LowerRungs(op, gpu)) {
    const RankedPlan& best = rung.report.best;
    std::printf("else       %s, %.2f us, on a GPU that holds %d of its clusters at once\n",
                best.plan.Summary().c_str(), best.cost.us(),
                ClustersNeeded(best.plan, rung.residency));
  }
  std::printf("candidates %lld, of them legal %lld\n\n",
              static_cast<long long>(report->num_candidates),
              static_cast<long long>(report->num_legal));
  std::printf("%s\n", CostText(cost).c_str());
  if (!report->runners_up.empty()) std::printf("%s\n", RunnersUpText(*report).c_str());
  if (!report->refused.empty()) std::printf("%s\n", RefusedText(*report).c_str());
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
  std::printf(
      "%s\n",
      options.json
          ? json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace).c_str()
          : table.ToText().c_str());
}

absl::Status RunPlan(const PlanOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(const Config config, ReadConfig(Environment::OfProcess()));
  PrintWarnings("plan", config);
  if (options.rules) {
    PrintRules(options);
    return absl::OkStatus();
  }
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<ModelOp> ops, OpsToPlan(options));
  Json all = Json::array();
  bool any_planned = false;
  for (const ModelOp& op : ops) {
    const absl::StatusOr<SearchReport> report = Explain(op, gpu);
    if (!report.ok() && !IsDeclined(report.status())) return report.status();
    any_planned = any_planned || report.ok();
    if (options.json) {
      all.push_back(ReportJson(op, gpu, report));
    } else {
      PrintReport(op, gpu, report);
    }
  }
  if (options.json)
    std::printf("%s\n",
                all.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace).c_str());
  if (!options.json && any_planned) std::printf("%s", kPlanCode);
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
  command->footer(std::string(ExitCodeHelp()));
  command->callback([options, &exit_code] {
    const absl::Status status = RunPlan(*options);
    exit_code = status.ok() ? ExitCode::kDone : Complain("plan", status);
  });
}

}  // namespace fusebox
