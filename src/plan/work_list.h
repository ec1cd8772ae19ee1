// WorkList: what each CTA of a plan loads, makes and writes, spelled out from the plan alone. The
// interpreter executes it and the coverage check counts it, so both judge the same description; the
// kernel (kernels_templates/copy/ffn_producers.cuh, edges/) follows it too.
// Pure functions. REQUIRES: a plan that keeps the field rules of legality.h.
#ifndef FUSEBOX_SRC_PLAN_WORK_LIST_H_
#define FUSEBOX_SRC_PLAN_WORK_LIST_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/plan/fusion_plan.h"

namespace fusebox {

enum class WeightMatrix : int32_t { kGate = 0, kUp = 1, kDown = 2 };
std::string_view ToString(WeightMatrix matrix);

struct CtaPlace {
  int cluster = 0;
  int rank = 0;  // in the cluster
};

// One TMA box of 64 k elements as it is loaded. It may lie partly or wholly beyond its matrix: zero
// fill.
struct WeightBox {
  WeightMatrix matrix = WeightMatrix::kUp;
  int64_t row_begin = 0;
  int64_t num_rows = 0;
  int64_t k_begin = 0;     // column of the matrix
  int64_t used_k_end = 0;  // columns at and beyond are loaded but not multiplied
};

// One fill of a ring slot, in stream order.
struct WeightSlot {
  int pass = 0;
  // First k of x (phase 1); first row of h in what the CTA multiplies: its cluster's chunk, or all.
  int64_t operand_begin = 0;
  std::vector<WeightBox> boxes;
};

// 16 output rows x 8 tokens, or 8 x 16 where tokens are wgmma's rows, that one CTA writes: of those
// that split k the one that the unit is dealt to. With ordered partials the CTAs of a rank share
// the rank's: here a unit's owner sums it over the clusters; in the kernel it may be whichever CTA
// of the rank arrives last.
struct OutputUnit {
  int64_t row_begin = 0;
  int64_t num_rows = 0;  // fewer where a pass or the matrix ends; 0: padding
  int token_begin = 0;
  int num_tokens = 8;
};

struct CtaWork {
  std::vector<WeightSlot> up;
  std::vector<WeightSlot> down;
  // Intermediate rows, of the whole h, that this CTA makes and hands on.
  int64_t slice_begin = 0;
  int64_t slice_rows = 0;
  int64_t output_begin = 0;  // first output row that this CTA multiplies
  std::vector<OutputUnit> outputs;
};

CtaWork WorkOf(const FusionPlan& plan, CtaPlace place);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_WORK_LIST_H_
