#include "runtime/tools/plan_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "runtime/tools/rule_list.h"
#include "runtime/tools/table.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPlanCode[] =
    "plan code, for example c8x14 t8 up1x128x128/2 down2x256x128 wg2 ring3/2+8 p50000 dsm_gather:\n"
    "  c8x14          14 clusters of 8 CTAs\n"
    "  t8             compiled for up to 8 tokens\n"
    "  up1x128x128/2  a CTA makes 1 pass of 128 intermediate rows, from 128 of hidden at a\n"
    "                 time; /2: two warpgroups share those 128\n"
    "  down2x256x128  then 2 passes of 256 output rows, from 128 of the intermediate at a time\n"
    "  wg2            2 warpgroups multiply; one more copies\n"
    "  ring3/2+8      3 slots for weights, 2 of them in flight at most, and 8 for activations\n"
    "  p50000         a sum's owner waits up to 50000 cycles for the other clusters' parts; left\n"
    "                 out: the last to come adds\n"
    "  dsm_gather     the intermediate reaches the cluster through distributed shared memory;\n"
    "                 grid_gather: it reaches the grid through L2, and nothing is left to add up\n";

// A field in which a plan is not the chosen one.
struct Difference {
  std::string field;  // "up.rows_per_cta"
  Json value;
  Json chosen;
};

// In the order of the plan's JSON.
std::vector<Difference> DifferencesOf(const FusionPlan& plan, const FusionPlan& chosen) {
  const Json fields = Json::parse(plan.ToJson(), nullptr, /*allow_exceptions=*/false).flatten();
  const Json others = Json::parse(chosen.ToJson(), nullptr, /*allow_exceptions=*/false).flatten();
  std::vector<Difference> differences;
  for (const auto& [pointer, value] : fields.items()) {
    const Json other = others.value(pointer, Json());
    if (value == other) continue;
    const std::string field = absl::StrReplaceAll(pointer.substr(1), {{"/", "."}});
    differences.push_back({.field = field, .value = value, .chosen = other});
  }
  return differences;
}

std::string DifferencesText(const FusionPlan& plan, const FusionPlan& chosen) {
  return absl::StrJoin(DifferencesOf(plan, chosen), ", ",
                       [](std::string* out, const Difference& difference) {
                         absl::StrAppend(out, difference.field, " ", difference.value.dump(),
                                         " not ", difference.chosen.dump());
                       });
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
    std::string parts = "norm of";
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

// The chosen plan first, so that the others' terms can be compared with its.
std::string RunnersUpText(const SearchReport& report) {
  Table table({{"runner-up"},
               {"us", Align::kRight},
               {"slower", Align::kRight},
               {"launch", Align::kRight},
               {"up", Align::kRight},
               {"edge", Align::kRight},
               {"down", Align::kRight},
               {"combine", Align::kRight},
               {"differs in"}});
  const auto add = [&](std::string name, const RankedPlan& ranked, std::string slower,
                       std::string differs) {
    const CostBreakdown& cost = ranked.cost;
    table.AddRow({std::move(name), Fixed(cost.us(), 2), std::move(slower),
                  Fixed(cost.boundary_us + cost.launch_us, 2), Fixed(cost.up.us(), 2),
                  Fixed(cost.edge_us, 2), Fixed(cost.down.us(), 2), Fixed(cost.combine_us, 2),
                  std::move(differs)});
  };
  add("(chosen)", report.best, "-", "-");
  for (const RankedPlan& ranked : report.runners_up) {
    add(ranked.plan.Summary(), ranked,
        absl::StrCat(Fixed(100 * (ranked.cost.us() / report.best.cost.us() - 1), 1), " %"),
        DifferencesText(ranked.plan, report.best.plan));
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

std::string DeclinedText(const ModelOp& op, std::string_view message) {
  std::string text = absl::StrCat(op.name, ": declined: ", message, "\n");
  const std::string_view help = HelpFor(SplitDecline(message).rule);
  if (!help.empty()) absl::StrAppend(&text, "what helps: ", help, "\n");
  return text + "\n";
}

std::string ChosenByText(const SearchReport& report, const DeviceSpec& gpu) {
  switch (report.chosen_by) {
    case ChosenBy::kCost:
      break;
    case ChosenBy::kPreference:
      return absl::StrCat("preference among ties: plans within ",
                          Fixed(100 * gpu.model_resolution, 0),
                          " % of the cheapest count as equal");
    case ChosenBy::kForced:
      return "FUSEBOX_FORCE_PLAN";
  }
  return "cost";
}

std::string UnfusedText(const UnfusedCost& cost) {
  std::string text =
      absl::StrCat(Fixed(cost.us(), 2), " us: up ", Fixed(cost.up_us, 2), ", activation ",
                   Fixed(cost.activation_us, 2), ", down ", Fixed(cost.down_us, 2));
  if (cost.norm_us > 0) absl::StrAppend(&text, ", norm and residual ", Fixed(cost.norm_us, 2));
  return text;
}

std::string VerdictText(const SearchReport& report, const DeviceSpec& gpu, SlowerPlans slower) {
  const absl::Status pays = CheckFusionPays(report, gpu);
  if (pays.ok()) return "served";
  if (slower == SlowerPlans::kServe) return "served though slower: FUSEBOX_DECLINE_SLOWER=0";
  return absl::StrCat("declined: ", pays.message());
}

void AddDecline(const absl::Status& status, Json& json) {
  const Decline decline = SplitDecline(status.message());
  json["declined"] = std::string(status.message());
  json["rule"] = decline.rule;
  json["sentence"] = decline.sentence;
}

// The plans that follow on a GPU that holds less at once than its profile says.
absl::Span<const LadderRung> LowerRungs(const std::vector<LadderRung>& ladder) {
  return absl::MakeConstSpan(ladder).subspan(1);
}

std::string LowerRungsText(const std::vector<LadderRung>& ladder) {
  std::string text;
  for (const LadderRung& rung : LowerRungs(ladder)) {
    const RankedPlan& best = rung.report.best;
    absl::StrAppend(&text, "else       ", best.plan.Summary(), ", ", Fixed(best.cost.us(), 2),
                    " us, on a GPU that holds ", ClustersNeeded(best.plan, rung.residency),
                    " of its clusters at once\n");
  }
  return text;
}

Json LowerRungsJson(const std::vector<LadderRung>& ladder) {
  Json rungs = Json::array();
  for (const LadderRung& rung : LowerRungs(ladder)) {
    const RankedPlan& best = rung.report.best;
    rungs.push_back({{"summary", best.plan.Summary()},
                     {"us", best.cost.us()},
                     {"clusters_needed", ClustersNeeded(best.plan, rung.residency)}});
  }
  return rungs;
}

}  // namespace

std::string PlanReportText(const ModelOp& op, const DeviceSpec& gpu,
                           const absl::StatusOr<std::vector<LadderRung>>& ladder,
                           SlowerPlans slower) {
  if (!ladder.ok()) return DeclinedText(op, ladder.status().message());
  const SearchReport& report = ladder->front().report;
  const CostBreakdown& cost = report.best.cost;
  std::string text =
      absl::StrCat(op.name, ", token tile ", op.op->token_tile, ", on ", gpu.name, "\nplan       ",
                   report.best.plan.Summary(), "\npredicted  ", Fixed(cost.us(), 2), " us, floor ",
                   Fixed(cost.floor_us, 2), " us, ratio ", Fixed(cost.us() / cost.floor_us, 2),
                   "\nunfused    ", UnfusedText(report.unfused), "\nverdict    ",
                   VerdictText(report, gpu, slower), "\nchosen by  ", ChosenByText(report, gpu),
                   "\n", LowerRungsText(*ladder), "candidates ", report.num_candidates,
                   ", of them legal ", report.num_legal, "; refused by ", report.refused.size(),
                   report.refused.size() == 1 ? " rule\n\n" : " rules\n\n", CostText(cost), "\n");
  if (!report.runners_up.empty()) absl::StrAppend(&text, RunnersUpText(report), "\n");
  if (!report.refused.empty()) absl::StrAppend(&text, RefusedText(report), "\n");
  return text;
}

Json PlanReportJson(const ModelOp& op, const DeviceSpec& gpu,
                    const absl::StatusOr<std::vector<LadderRung>>& ladder, SlowerPlans slower) {
  Json json = {{"op", op.name}, {"gpu", gpu.name}, {"tokens", op.tokens}};
  if (!ladder.ok()) {
    AddDecline(ladder.status(), json);
    return json;
  }
  const SearchReport& report = ladder->front().report;
  if (const absl::Status pays = CheckFusionPays(report, gpu); !pays.ok()) {
    if (slower == SlowerPlans::kDecline) AddDecline(pays, json);
  }
  json["token_tile"] = op.op->token_tile;
  json["chosen_by"] = ToString(report.chosen_by);
  json["search"] = Json::parse(report.ToJson(), nullptr, /*allow_exceptions=*/false);
  Json& runners_up = json["search"]["runners_up"];
  for (size_t i = 0; i < report.runners_up.size(); ++i) {
    Json& differs = runners_up[i]["differs"] = Json::object();
    for (const Difference& difference :
         DifferencesOf(report.runners_up[i].plan, report.best.plan)) {
      differs[difference.field] = {{"value", difference.value}, {"chosen", difference.chosen}};
    }
  }
  json["lower_rungs"] = LowerRungsJson(*ladder);
  return json;
}

std::string_view PlanCodeHelp() { return kPlanCode; }

}  // namespace fusebox
