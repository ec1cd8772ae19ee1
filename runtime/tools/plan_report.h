// PlanReport says how one op was planned: what was chosen and why, the terms of its predicted time,
// whether fusion pays, the runners-up with theirs and with what they do otherwise, the plans for a
// GPU that holds less, and how many candidates each rule refused. Text for people, or the same as
// JSON. Pure functions.
#ifndef FUSEBOX_RUNTIME_TOOLS_PLAN_REPORT_H_
#define FUSEBOX_RUNTIME_TOOLS_PLAN_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/device/device_spec.h"
#include "src/model/model_ops.h"
#include "src/plan/fusion_pays.h"
#include "src/plan/ladder.h"

namespace fusebox {

// `ladder` is what the planner says of `op` where slower plans are served, or its decline; `slower`
// is what an engine does, and the report's verdict.
std::string PlanReportText(const ModelOp& op, const DeviceSpec& gpu,
                           const absl::StatusOr<std::vector<LadderRung>>& ladder,
                           SlowerPlans slower);
nlohmann::ordered_json PlanReportJson(const ModelOp& op, const DeviceSpec& gpu,
                                      const absl::StatusOr<std::vector<LadderRung>>& ladder,
                                      SlowerPlans slower);

// What a plan's code means, for under the reports.
std::string_view PlanCodeHelp();

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_PLAN_REPORT_H_
