#include "runtime/engine/planner.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/status.h"
#include "src/source/emit.h"

namespace fusebox {
namespace {

struct ProfileOfName {
  std::string_view part;  // of the driver's name for the GPU
  std::string_view profile;
};

// First match wins: "GH200" contains "H200", and the PCIe card is named "NVIDIA H100 PCIe".
constexpr ProfileOfName kProfiles[] = {
    {"GH200", "gh200"}, {"H200", "h200-sxm"}, {"H100 PCIe", "h100-pcie"}, {"H100", "h100-sxm"}};

}  // namespace

absl::StatusOr<std::vector<LadderRung>> ChooseLadder(const FfnProblem& problem, int token_tile,
                                                     const DeviceSpec& device,
                                                     const PlanOverrides& overrides) {
  if (overrides.plans.Find(problem, token_tile) == nullptr) {
    FUSEBOX_ASSIGN_OR_RETURN(std::vector<LadderRung> ladder,
                             BuildLadder(problem, token_tile, device));
    if (overrides.slower == SlowerPlans::kDecline) {
      FUSEBOX_RETURN_IF_ERROR(CheckFusionPays(ladder.front().report, device));
    }
    return ladder;
  }
  // One rung: another plan in the forced one's place would not be what was asked for.
  FUSEBOX_ASSIGN_OR_RETURN(SearchReport report, ChoosePlan(problem, token_tile, device, overrides));
  std::vector<LadderRung> ladder;
  ladder.push_back({.report = std::move(report)});
  return ladder;
}

absl::StatusOr<std::vector<PlannedKernel>> PlanLadder(const FfnProblem& problem, int token_tile,
                                                      const DeviceSpec& device,
                                                      const PlanOverrides& overrides) {
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<LadderRung> ladder,
                           ChooseLadder(problem, token_tile, device, overrides));
  std::vector<PlannedKernel> rungs;
  for (LadderRung& rung : ladder) {
    FUSEBOX_ASSIGN_OR_RETURN(KernelSource source, Emit(rung.report.best.plan, overrides.templates));
    rungs.push_back({.report = std::move(rung.report),
                     .source = std::move(source),
                     .residency = rung.residency});
  }
  return rungs;
}

std::string LadderJson(absl::Span<const PlannedKernel> rungs, std::optional<size_t> in_force) {
  const PlannedKernel& shown = rungs[in_force.value_or(0)];
  std::string json = absl::StrCat("{\"kernel\":\"", shown.source.name, "\",\"digest\":\"",
                                  shown.source.Digest().ToHex(),
                                  "\",\"workspace_bytes\":", shown.source.workspace_bytes,
                                  ",\"search\":", shown.report.ToJson(), ",\"ladder\":[");
  for (size_t i = 0; i < rungs.size(); ++i) {
    const PlannedKernel& rung = rungs[i];
    const FusionPlan& plan = rung.report.best.plan;
    absl::StrAppend(&json, i == 0 ? "" : ",", "{\"plan\":\"", plan.Summary(),
                    "\",\"us\":", absl::StrFormat("%.3f", rung.report.best.cost.us()),
                    ",\"clusters_needed\":", ClustersNeeded(plan, rung.residency), ",\"digest\":\"",
                    rung.source.Digest().ToHex(),
                    "\",\"in_force\":", in_force == i ? "true" : "false", "}");
  }
  return absl::StrCat(json, "]}");
}

absl::StatusOr<SearchReport> ChoosePlan(const FfnProblem& problem, int token_tile,
                                        const DeviceSpec& device, const PlanOverrides& overrides) {
  absl::StatusOr<SearchReport> report = SearchForced(problem, token_tile, device, overrides.plans);
  if (report.ok() && overrides.slower == SlowerPlans::kDecline) {
    FUSEBOX_RETURN_IF_ERROR(CheckFusionPays(*report, device));
  }
  if (report.ok() || overrides.plans.Find(problem, token_tile) == nullptr) return report;
  return absl::Status(report.status().code(),
                      absl::StrCat("FUSEBOX_FORCE_PLAN: ", report.status().message()));
}

absl::StatusOr<PlannedKernel> PlanAndEmit(const FfnProblem& problem, int token_tile,
                                          const DeviceSpec& device,
                                          const PlanOverrides& overrides) {
  FUSEBOX_ASSIGN_OR_RETURN(SearchReport report, ChoosePlan(problem, token_tile, device, overrides));
  FUSEBOX_ASSIGN_OR_RETURN(KernelSource source, Emit(report.best.plan, overrides.templates));
  return PlannedKernel{.report = std::move(report), .source = std::move(source)};
}

absl::StatusOr<std::string_view> ProfileNameFor(std::string_view gpu_name) {
  for (const ProfileOfName& row : kProfiles) {
    if (absl::StrContains(gpu_name, row.part)) return row.profile;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("profile: none is known for a GPU named ", gpu_name,
                   "; name one that is close in FUSEBOX_DEVICE_PROFILE"));
}

}  // namespace fusebox
