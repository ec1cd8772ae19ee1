// EmitReference writes the slow oracle of an ffn for the device: the kernels (the block's input
// rows, h, y with the bound on each element, a second norm, a comparison) that `fusebox verify`,
// shadow launches and the GPU tests judge by. Dimensions are run-time arguments. Pure function;
// deterministic.
#ifndef FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_
#define FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_

#include "absl/status/statusor.h"
#include "src/shape/ffn_problem.h"
#include "src/source/kernel_source.h"
#include "src/source/template_set.h"

namespace fusebox {

// Entries of the module, in the order in which they run.
constexpr char kReferenceRowsEntry[] = "fusebox_reference_rows";
constexpr char kReferenceIntermediateEntry[] = "fusebox_reference_intermediate";
constexpr char kReferenceOutputEntry[] = "fusebox_reference_output";
constexpr char kReferenceSecondNormEntry[] = "fusebox_reference_second_norm";  // sandwich
constexpr char kReferenceCompareEntry[] = "fusebox_reference_compare";

// The launch shape is none: each entry has its own.
absl::StatusOr<KernelSource> EmitReference(const FfnProblem& problem, const TemplateSet& templates);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_
