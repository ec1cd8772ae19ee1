#include "src/source/emit.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/footprint.h"
#include "src/source/device_names.h"
#include "src/source/render.h"

namespace fusebox {
namespace {

constexpr std::string_view kEntryTemplate = "kernels_templates/entry/ffn.cu.in";
constexpr std::string_view kEntrySymbol = "fusebox_ffn";

std::string_view BiasArgument(const FfnProblem& problem) {
  if (problem.up_bias) return problem.down_bias ? "both" : "up";
  return problem.down_bias ? "down" : "none";
}

// How a person plans the same op again: arguments of `fusebox plan`. What is left out has its
// default.
std::string ReproduceArguments(const FusionPlan& plan) {
  const FfnProblem& problem = plan.problem;
  const FfnProblem defaults;
  std::string arguments = absl::StrCat(
      "--hidden ", problem.hidden.value(), " --intermediate ", problem.intermediate.value(),
      " --activation ", ToString(problem.activation), " --form ", ToString(problem.form));
  const auto append = [&](bool differs, std::string_view option, std::string_view value) {
    if (differs) absl::StrAppend(&arguments, " --", option, " ", value);
  };
  append(problem.dtype != defaults.dtype, "dtype", ToString(problem.dtype));
  append(problem.norm != defaults.norm, "norm", ToString(problem.norm));
  append(problem.residual_mode != defaults.residual_mode, "residual",
         ToString(problem.residual_mode));
  append(problem.up_bias || problem.down_bias, "bias", BiasArgument(problem));
  append(problem.layout != defaults.layout, "layout", ToString(problem.layout));
  append(problem.rounding != defaults.rounding, "rounding", ToString(problem.rounding));
  return absl::StrCat(arguments, " --tokens ", plan.token_tile);
}

std::map<std::string, std::string> PlaceholderValues(const FusionPlan& plan,
                                                     const std::string& name,
                                                     const EmitOptions& options) {
  const FfnProblem& problem = plan.problem;
  const RegisterSplit registers = SplitRegisters(plan);
  return {
      {"name", name},
      {"plan_fingerprint", plan.PlanFingerprint().ToHex()},
      {"plan_summary", plan.Summary()},
      {"reproduce", ReproduceArguments(plan)},
      {"hidden", absl::StrCat(problem.hidden.value())},
      {"intermediate", absl::StrCat(problem.intermediate.value())},
      {"gated", DeviceBool(problem.form == FfnForm::kGated)},
      {"activation", std::string(DeviceName(problem.activation))},
      {"dtype", std::string(DeviceName(problem.dtype))},
      {"rounding", std::string(DeviceName(problem.rounding))},
      {"up_bias", DeviceBool(problem.up_bias)},
      {"down_bias", DeviceBool(problem.down_bias)},
      {"norm", std::string(DeviceName(problem.norm))},
      {"residual_mode", std::string(DeviceName(problem.residual_mode))},
      {"layout", std::string(DeviceName(problem.layout))},
      {"token_tile", absl::StrCat(plan.token_tile)},
      {"cluster_size", absl::StrCat(plan.cluster_size)},
      {"num_clusters", absl::StrCat(plan.num_clusters)},
      {"consumer_warpgroups", absl::StrCat(plan.consumer_warpgroups)},
      {"ring_slots", absl::StrCat(plan.ring_slots)},
      {"slots_in_flight", absl::StrCat(plan.slots_in_flight)},
      {"activation_slots", absl::StrCat(plan.activation_slots)},
      {"up_rows_per_pass", absl::StrCat(plan.up.rows_per_pass)},
      {"up_passes", absl::StrCat(plan.up.passes)},
      {"up_k_per_slot", absl::StrCat(plan.up.k_per_slot)},
      {"up_k_warpgroups", absl::StrCat(plan.up.k_warpgroups)},
      {"down_rows_per_pass", absl::StrCat(plan.down.rows_per_pass)},
      {"down_passes", absl::StrCat(plan.down.passes)},
      {"down_k_per_slot", absl::StrCat(plan.down.k_per_slot)},
      {"down_k_warpgroups", absl::StrCat(plan.down.k_warpgroups)},
      {"mma_rows", plan.mma_rows == MmaRows::kTokens ? "kTokens" : "kWeights"},
      {"down_k_ctas", absl::StrCat(plan.down.k_ctas)},
      {"activation_multicast", DeviceBool(plan.activation_multicast)},
      {"edge", plan.gathers_over_grid() ? "kGridGather" : "kDsmGather"},
      {"producer_registers", absl::StrCat(registers.producer)},
      {"consumer_registers", absl::StrCat(registers.consumer)},
      {"combine_patience_cycles", absl::StrCat(plan.combine_patience_cycles)},
      {"bounded_spins", DeviceBool(options.bounded_spins)},
      {"jitter_seed", absl::StrCat(options.jitter_seed)},
      {"workspace_bytes", absl::StrCat(WorkspaceBytes(plan))},
      {"smem_bytes", absl::StrCat(FootprintOf(plan).total_bytes)},
      {"threads", absl::StrCat(plan.threads())},
  };
}

}  // namespace

absl::StatusOr<KernelSource> Emit(const FusionPlan& plan, const TemplateSet& templates,
                                  const EmitOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string_view entry_template, templates.Find(kEntryTemplate));
  KernelSource source;
  source.name = absl::StrCat(plan.problem.Name(), "_t", plan.token_tile);
  source.entry = std::string(kEntrySymbol);
  FUSEBOX_ASSIGN_OR_RETURN(source.text,
                           Render(entry_template, PlaceholderValues(plan, source.name, options)));
  source.plan_json = plan.ToJson();
  source.architecture = "sm_90a";
  source.flags = {"--gpu-architecture=sm_90a", "--std=c++20",
                  "--device-as-default-execution-space"};
  FUSEBOX_ASSIGN_OR_RETURN(source.headers, templates.ReachableFrom(source.text));
  source.launch = {
      .grid_ctas = plan.grid_ctas(),
      .cluster_size = plan.cluster_size,
      .cooperation = plan.gathers_over_grid() ? Cooperation::kGrid : Cooperation::kCluster,
      .threads = plan.threads(),
      .dynamic_smem_bytes = FootprintOf(plan).total_bytes};
  source.workspace_bytes = WorkspaceBytes(plan);
  return source;
}

}  // namespace fusebox
