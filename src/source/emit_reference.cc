#include "src/source/emit_reference.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/source/render.h"

namespace fusebox {
namespace {

constexpr std::string_view kEntryTemplate = "kernels_templates/entry/ffn_reference.cu.in";
constexpr int kThreads = 32;  // a warp an element

// Names of `enum class ReferenceActivation` in kernels_templates/kernels/ffn_reference.cuh.
std::string ReferenceName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "kSilu";
    case Activation::kGeluErf:
      return "kGeluErf";
    case Activation::kRelu:
      return "kRelu";
  }
  return "unknown";
}

}  // namespace

absl::StatusOr<KernelSource> EmitReference(const FfnProblem& problem,
                                           const TemplateSet& templates) {
  const bool is_gated = problem.form == FfnForm::kGated;
  const bool adds_residual = problem.residual_mode == ResidualMode::kAddAfter;
  KernelSource source;
  source.name = absl::StrCat("ffn_reference_", ToString(problem.form), "_",
                             ToString(problem.activation), adds_residual ? "_add_after" : "");
  source.entry = kReferenceOutputEntry;
  FUSEBOX_ASSIGN_OR_RETURN(const std::string_view entry_template, templates.Find(kEntryTemplate));
  FUSEBOX_ASSIGN_OR_RETURN(
      source.text, Render(entry_template, {{"name", source.name},
                                           {"gated", is_gated ? "true" : "false"},
                                           {"activation", ReferenceName(problem.activation)},
                                           {"add_residual", adds_residual ? "true" : "false"}}));
  source.architecture = "sm_90a";
  source.flags = {"--gpu-architecture=sm_90a", "--std=c++20",
                  "--device-as-default-execution-space"};
  FUSEBOX_ASSIGN_OR_RETURN(source.headers, templates.ReachableFrom(source.text));
  source.launch = {.threads = kThreads};
  return source;
}

}  // namespace fusebox
