// Emit turns a plan into a KernelSource: it fills entry/ffn.cu.in by name and computes the launch
// shape. All logic lives in the templates; the generated text is a comment, a struct Plan of
// constants and an entry point. Pure function; deterministic.
#ifndef FUSEBOX_SRC_SOURCE_EMIT_H_
#define FUSEBOX_SRC_SOURCE_EMIT_H_

#include "absl/status/statusor.h"
#include "src/plan/fusion_plan.h"
#include "src/source/kernel_source.h"
#include "src/source/template_set.h"

namespace fusebox {

struct EmitOptions {
  bool bounded_spins =
      false;  // every wait gives up after a bound and names its barrier in the workspace header
  int jitter_seed =
      0;  // non-zero: random nanosleep at role edges, for tests; results must not change
};

absl::StatusOr<KernelSource> Emit(const FusionPlan& plan, const TemplateSet& templates,
                                  const EmitOptions& options = {});

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_EMIT_H_
