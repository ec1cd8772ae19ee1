#include "src/source/emit_measure.h"

#include <string_view>

#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<KernelSource> EmitMeasure(const TemplateSet& templates) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string_view text,
                           templates.Find("kernels_templates/entry/measure.cu.in"));
  KernelSource source;
  source.name = "measure";
  source.entry = kReadStreamEntry;
  source.text = text;
  source.architecture = "sm_90a";
  source.flags = {"--gpu-architecture=sm_90a", "--std=c++20",
                  "--device-as-default-execution-space"};
  FUSEBOX_ASSIGN_OR_RETURN(source.headers, templates.ReachableFrom(source.text));
  return source;
}

}  // namespace fusebox
