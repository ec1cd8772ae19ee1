#include "src/plan/coverage.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr int64_t kCell = 8;  // every dimension and every boundary of the work is a multiple of 8

// How often each 8 x 8 cell of one matrix was used.
class UseCounts {
 public:
  UseCounts(std::string name, int64_t rows, int64_t columns)
      : name_(std::move(name)),
        rows_(rows / kCell),
        columns_(columns / kCell),
        counts_(static_cast<size_t>(rows_ * columns_)) {}

  // What lies beyond the matrix is zero fill and needs no count.
  void Use(int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    const int64_t last_row = std::min(row_end / kCell, rows_);
    const int64_t last_column = std::min(column_end / kCell, columns_);
    for (int64_t row = row_begin / kCell; row < last_row; ++row) {
      for (int64_t column = column_begin / kCell; column < last_column; ++column) {
        uint8_t& count = counts_[static_cast<size_t>(row * columns_ + column)];
        if (count < 255) ++count;
      }
    }
  }

  absl::Status CheckAllOnce() const {
    for (size_t cell = 0; cell < counts_.size(); ++cell) {
      if (counts_[cell] == 1) continue;
      const auto index = static_cast<int64_t>(cell);
      return absl::InternalError(absl::StrCat(
          "coverage: ", name_, " row ", index / columns_ * kCell, ", column ",
          index % columns_ * kCell, " is used ", int{counts_[cell]}, " times instead of once"));
    }
    return absl::OkStatus();
  }

 private:
  std::string name_;
  int64_t rows_;
  int64_t columns_;
  std::vector<uint8_t> counts_;
};

bool OnGrid(const WeightBox& box) {
  return box.row_begin % kCell == 0 && box.num_rows % kCell == 0 && box.k_begin % kCell == 0 &&
         box.used_k_end % kCell == 0;
}

// Box i of a slot meets the 64 operand elements that follow operand_begin + 64 * (i / matrices).
// `operand_base` is the matrix column that belongs to the operand's element 0.
absl::Status CheckSlot(const WeightSlot& slot, int64_t operand_base, int64_t matrices,
                       int64_t slot_bytes) {
  constexpr int64_t kRowBytes = 128;  // of a box
  int64_t bytes = 0;
  for (size_t i = 0; i < slot.boxes.size(); ++i) {
    const WeightBox& box = slot.boxes[i];
    bytes += box.num_rows * kRowBytes;
    if (!OnGrid(box) || box.used_k_end > box.k_begin + kBoxK) {
      return absl::InternalError(absl::StrCat("coverage: ", ToString(box.matrix), " box at row ",
                                              box.row_begin, ", column ", box.k_begin,
                                              " is no whole number of 8 x 8 cells of a box"));
    }
    const int64_t operand = slot.operand_begin + static_cast<int64_t>(i) / matrices * kBoxK;
    if (box.k_begin != operand_base + operand) {
      return absl::InternalError(absl::StrCat("coverage: ", ToString(box.matrix), " column ",
                                              box.k_begin, " meets operand element ", operand,
                                              ", not ", box.k_begin - operand_base));
    }
  }
  if (bytes > slot_bytes) {
    return absl::InternalError(
        absl::StrCat("coverage: a slot of ", slot_bytes, " bytes is filled with ", bytes));
  }
  return absl::OkStatus();
}

struct Ledger {
  UseCounts gate, up, down, intermediate, outputs;
  UseCounts& Of(WeightMatrix matrix) {
    return matrix == WeightMatrix::kGate ? gate : matrix == WeightMatrix::kUp ? up : down;
  }
};

absl::Status CountCta(const FusionPlan& plan, CtaPlace place, const CtaWork& work, Ledger& ledger) {
  const int64_t slot_bytes = FootprintOf(plan).slot_bytes;
  // What the CTA multiplies of h in phase 2.
  const int64_t h_begin = plan.gathers_over_grid() ? 0 : place.cluster * plan.chunk_rows();
  const int64_t h_end = plan.gathers_over_grid()
                            ? int64_t{place.rank % plan.down.k_ctas + 1} * plan.down_k_part()
                            : h_begin + plan.down_k();
  for (const auto* phase : {&work.up, &work.down}) {
    const int64_t operand_base = phase == &work.down ? h_begin : 0;
    const int64_t matrices = phase == &work.down ? 1 : plan.problem.num_up_matrices();
    for (const WeightSlot& slot : *phase) {
      FUSEBOX_RETURN_IF_ERROR(CheckSlot(slot, operand_base, matrices, slot_bytes));
      for (const WeightBox& box : slot.boxes) {
        if (phase == &work.down && box.used_k_end > h_end) {
          return absl::InternalError(absl::StrCat("coverage: down columns up to ", box.used_k_end,
                                                  " are multiplied beyond the end of h, ", h_end));
        }
        ledger.Of(box.matrix)
            .Use(box.row_begin, box.row_begin + box.num_rows, box.k_begin, box.used_k_end);
      }
    }
  }
  ledger.intermediate.Use(work.slice_begin, work.slice_begin + work.slice_rows, 0, kCell);
  for (const OutputUnit& unit : work.outputs) {
    if (unit.num_rows % kCell != 0)
      return absl::InternalError("coverage: an output unit has a ragged end");
    ledger.outputs.Use(unit.row_begin, unit.row_begin + unit.num_rows, unit.token_begin,
                       unit.token_begin + unit.num_tokens);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCoverage(const FusionPlan& plan,
                           absl::FunctionRef<CtaWork(CtaPlace place)> work_of) {
  const int64_t hidden = plan.problem.hidden.value();
  const int64_t intermediate = plan.problem.intermediate.value();
  const bool is_gated = plan.problem.form == FfnForm::kGated;
  Ledger ledger{.gate = UseCounts("gate", is_gated ? intermediate : 0, hidden),
                .up = UseCounts("up", intermediate, hidden),
                .down = UseCounts("down", hidden, intermediate),
                .intermediate = UseCounts("h", intermediate, kCell),
                .outputs = UseCounts("y (row = output, column = token)", hidden, plan.token_tile)};
  for (int cluster = 0; cluster < plan.num_clusters; ++cluster) {
    for (int rank = 0; rank < plan.cluster_size; ++rank) {
      const CtaPlace place{.cluster = cluster, .rank = rank};
      FUSEBOX_RETURN_IF_ERROR(CountCta(plan, place, work_of(place), ledger));
    }
  }
  for (const UseCounts* counts :
       {&ledger.gate, &ledger.up, &ledger.down, &ledger.intermediate, &ledger.outputs}) {
    FUSEBOX_RETURN_IF_ERROR(counts->CheckAllOnce());
  }
  return absl::OkStatus();
}

absl::Status CheckCoverage(const FusionPlan& plan) {
  return CheckCoverage(plan, [&](CtaPlace place) { return WorkOf(plan, place); });
}

}  // namespace fusebox
