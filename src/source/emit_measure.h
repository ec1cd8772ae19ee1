// EmitMeasure gives the small kernels that verify and bench need beside the ones they judge: random
// operands, a read-only stream, a foreign neighbour. No placeholder, one source for all ops.
// Pure function; deterministic.
#ifndef FUSEBOX_SRC_SOURCE_EMIT_MEASURE_H_
#define FUSEBOX_SRC_SOURCE_EMIT_MEASURE_H_

#include "absl/status/statusor.h"
#include "src/source/kernel_source.h"
#include "src/source/template_set.h"

namespace fusebox {

// Fill and scale are there for each dtype: "fusebox_fill_uniform_bf16".
constexpr char kFillUniformEntry[] = "fusebox_fill_uniform_";
constexpr char kReadStreamEntry[] = "fusebox_read_stream";
constexpr char kScaleInPlaceEntry[] = "fusebox_scale_in_place_";

absl::StatusOr<KernelSource> EmitMeasure(const TemplateSet& templates);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_EMIT_MEASURE_H_
