#include "runtime/engine/planner.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

std::string PlannedKernel::ToJson() const {
  return absl::StrCat("{\"kernel\":\"", source.name, "\",\"digest\":\"", source.Digest().ToHex(),
                      "\",\"workspace_bytes\":", source.workspace_bytes,
                      ",\"search\":", report.ToJson(), "}");
}

absl::StatusOr<SearchReport> ChoosePlan(const FfnProblem& problem, int token_tile,
                                        const DeviceSpec& device, const PlanOverrides& overrides) {
  absl::StatusOr<SearchReport> report = SearchForced(problem, token_tile, device, overrides.plans);
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
