// EmitReference writes the slow oracle of an ffn for the device: two kernels (h, then y with the
// bound on each element) that `fusebox verify` and the GPU tests judge by. Dimensions are run-time
// arguments. Pure function; deterministic.
#ifndef FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_
#define FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_

#include "absl/status/statusor.h"
#include "src/shape/ffn_problem.h"
#include "src/source/kernel_source.h"
#include "src/source/template_set.h"

namespace fusebox {

// Entries of the module, in the order in which they run.
constexpr char kReferenceIntermediateEntry[] = "fusebox_reference_intermediate";
constexpr char kReferenceOutputEntry[] = "fusebox_reference_output";

// The launch shape holds threads only: the grid is (rows, tokens).
absl::StatusOr<KernelSource> EmitReference(const FfnProblem& problem, const TemplateSet& templates);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_EMIT_REFERENCE_H_
