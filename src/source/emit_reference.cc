#include "src/source/emit_reference.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/source/device_names.h"
#include "src/source/render.h"

namespace fusebox {
namespace {

constexpr std::string_view kEntryTemplate = "kernels_templates/entry/ffn_reference.cu.in";

// The problem's name without its dims.
std::string NameOf(FfnProblem problem) {
  problem.hidden = DimK(0);
  problem.intermediate = DimN(0);
  return absl::StrCat("reference_", problem.Name());
}

}  // namespace

absl::StatusOr<KernelSource> EmitReference(const FfnProblem& problem,
                                           const TemplateSet& templates) {
  KernelSource source;
  source.name = NameOf(problem);
  source.entry = kReferenceOutputEntry;
  FUSEBOX_ASSIGN_OR_RETURN(const std::string_view entry_template, templates.Find(kEntryTemplate));
  FUSEBOX_ASSIGN_OR_RETURN(
      source.text, Render(entry_template,
                          {{"name", source.name},
                           {"fp16", DeviceBool(problem.dtype == DType::kFp16)},
                           {"gated", DeviceBool(problem.form == FfnForm::kGated)},
                           {"activation", std::string(DeviceName(problem.activation))},
                           {"norm", std::string(DeviceName(problem.norm))},
                           {"residual_mode", std::string(DeviceName(problem.residual_mode))},
                           {"engine_rounding", DeviceBool(problem.rounding == Rounding::kEngine)},
                           {"up_bias", DeviceBool(problem.up_bias)},
                           {"down_bias", DeviceBool(problem.down_bias)}}));
  source.architecture = "sm_90a";
  source.flags = {"--gpu-architecture=sm_90a", "--std=c++20",
                  "--device-as-default-execution-space"};
  FUSEBOX_ASSIGN_OR_RETURN(source.headers, templates.ReachableFrom(source.text));
  return source;
}

}  // namespace fusebox
