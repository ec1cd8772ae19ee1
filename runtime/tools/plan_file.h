// Plan files hold given plans, one a line: what `plan --sample` prints, `warm --plans` compiles and
// `bench --plans` times. Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_PLAN_FILE_H_
#define FUSEBOX_RUNTIME_TOOLS_PLAN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

struct GivenPlan {
  FusionPlan plan;
  std::string model;       // as the line says, or empty
  int64_t tokens = 0;      // 0: the whole token tile
  bool is_chosen = false;  // the line says that the planner would take it
};

// A line is a plan's JSON, or an object with it as "plan" and perhaps "model", "tokens" and
// "chosen"; empty lines and other fields are passed over. At least one plan. NotFound, or
// InvalidArgument with the line's number.
absl::StatusOr<std::vector<GivenPlan>> ReadPlanFile(const std::string& path);

// The same on one line, as an object.
std::string PlanFileLine(const GivenPlan& given);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_PLAN_FILE_H_
