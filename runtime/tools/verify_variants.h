// The fixed list of variants that `fusebox verify --variants` runs on given dims: every dtype,
// activation, form, norm, residual mode, bias and rounding at least twice, mostly as models have
// them. Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_VARIANTS_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_VARIANTS_H_

#include <vector>

#include "runtime/tools/op_options.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

std::vector<FfnProblem> VariantsOf(DimK hidden, DimN intermediate);

// Each op replaced by the variants of its dims, at its token counts; declined ones stay.
std::vector<OpToRun> WithVariants(const std::vector<OpToRun>& ops);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_VARIANTS_H_
