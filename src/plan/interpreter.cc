#include "src/plan/interpreter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "src/base/bf16.h"
#include "src/base/status.h"
#include "src/plan/work_list.h"

namespace fusebox {
namespace {

// [rows][token_tile] fp32, tokens innermost.
class TokenRows {
 public:
  TokenRows(int64_t rows, int token_tile)
      : tile_(token_tile), values_(static_cast<size_t>(rows * token_tile)) {}
  float* Row(int64_t row) { return values_.data() + row * tile_; }
  const float* Row(int64_t row) const { return values_.data() + row * tile_; }

 private:
  int tile_;
  std::vector<float> values_;
};

float Activate(Activation activation, float v) {
  switch (activation) {
    case Activation::kSilu:
      return v / (1.0f + std::exp(-v));
    case Activation::kGeluErf:
      return 0.5f * v * (1.0f + std::erf(v * std::numbers::sqrt2_v<float> / 2.0f));
    case Activation::kRelu:
      break;
  }
  return v < 0.0f ? 0.0f : v;
}

class PlanRun {
 public:
  PlanRun(const FusionPlan& plan, const FfnOperands& operands)
      : plan_(plan),
        operands_(operands),
        hidden_(plan.problem.hidden.value()),
        intermediate_(plan.problem.intermediate.value()),
        tile_(plan.token_tile),
        x_(hidden_, tile_),
        y_(static_cast<size_t>(operands.tokens * hidden_), kBf16QuietNan) {
    for (int64_t token = 0; token < operands.tokens; ++token) {
      for (int64_t k = 0; k < hidden_; ++k) {
        x_.Row(k)[token] = Bf16ToFloat(operands.x[static_cast<size_t>(token * hidden_ + k)]);
      }
    }
    for (int cluster = 0; cluster < plan.num_clusters; ++cluster)
      partials_.emplace_back(hidden_, tile_);
  }

  std::vector<uint16_t> Run() {
    for (int cluster = 0; cluster < plan_.num_clusters; ++cluster) RunCluster(cluster);
    for (int cluster = 0; cluster < plan_.num_clusters; ++cluster) {
      for (int rank = 0; rank < plan_.cluster_size; ++rank) {
        for (const OutputUnit& unit : WorkOf(plan_, {.cluster = cluster, .rank = rank}).outputs) {
          WriteUnit(unit);
        }
      }
    }
    return std::move(y_);
  }

 private:
  absl::Span<const uint16_t> Weights(WeightMatrix matrix) const {
    if (matrix == WeightMatrix::kDown) return operands_.down;
    return matrix == WeightMatrix::kGate ? operands_.gate : operands_.up;
  }

  // sums += the box's weights times operand rows, over the k16 steps that belong to `k_group`.
  // `operand_base`: the matrix column of operand row 0. `row_base`: the matrix row of sums row 0.
  // What lies beyond the matrix is zero fill and adds nothing.
  void Multiply(const WeightBox& box, const WeightSlot& slot, const TokenRows& operand,
                int64_t operand_base, int k_group, int64_t row_base, TokenRows& sums) const {
    const bool is_down = box.matrix == WeightMatrix::kDown;
    const int64_t columns = is_down ? intermediate_ : hidden_;
    const int64_t row_end =
        std::min(box.row_begin + box.num_rows, is_down ? hidden_ : intermediate_);
    const int64_t k_end = std::min(box.used_k_end, columns);
    const int k_groups = is_down ? 1 : plan_.up.k_warpgroups;
    const int64_t slot_base = operand_base + slot.operand_begin;
    const absl::Span<const uint16_t> weights = Weights(box.matrix);
    for (int64_t row = box.row_begin; row < row_end; ++row) {
      float* out = sums.Row(row - row_base);
      for (int64_t step = box.k_begin; step < k_end; step += kWgmmaK) {
        if ((step - slot_base) / kWgmmaK % k_groups != k_group) continue;
        for (int64_t k = step; k < std::min<int64_t>(step + kWgmmaK, k_end); ++k) {
          const float weight = Bf16ToFloat(weights[static_cast<size_t>(row * columns + k)]);
          const float* in = operand.Row(k - operand_base);
          for (int token = 0; token < tile_; ++token) out[token] += weight * in[token];
        }
      }
    }
  }

  // Sums of one matrix of phase 1 over all slots: k groups apart, then added in order.
  TokenRows UpSums(const CtaWork& work, WeightMatrix matrix, int64_t row_base) const {
    TokenRows total(plan_.up.rows_per_cta, tile_);
    for (int group = 0; group < plan_.up.k_warpgroups; ++group) {
      TokenRows sums(plan_.up.rows_per_cta, tile_);
      for (const WeightSlot& slot : work.up) {
        for (const WeightBox& box : slot.boxes) {
          if (box.matrix != matrix) continue;
          Multiply(box, slot, x_, 0, group, row_base, sums);
        }
      }
      for (int64_t i = 0; i < plan_.up.rows_per_cta * int64_t{tile_}; ++i)
        total.Row(0)[i] += sums.Row(0)[i];
    }
    return total;
  }

  void MakeSlice(const CtaWork& work, int64_t chunk_begin, TokenRows& chunk) const {
    const int64_t row_base = chunk_begin + work.slice_begin;
    const bool is_gated = plan_.problem.form == FfnForm::kGated;
    const TokenRows up = UpSums(work, WeightMatrix::kUp, row_base);
    const TokenRows gate = is_gated ? UpSums(work, WeightMatrix::kGate, row_base) : up;
    for (int64_t row = 0; row < work.slice_rows; ++row) {
      for (int token = 0; token < tile_; ++token) {
        const float first = Activate(plan_.problem.activation, gate.Row(row)[token]);
        const float h = is_gated ? first * up.Row(row)[token] : first;
        chunk.Row(work.slice_begin + row)[token] = RoundToBf16(h);
      }
    }
  }

  void RunCluster(int cluster) {
    const int64_t chunk_begin = cluster * plan_.chunk_rows();
    TokenRows chunk(plan_.chunk_rows(), tile_);  // what every CTA holds after the gather
    std::vector<CtaWork> work;
    for (int rank = 0; rank < plan_.cluster_size; ++rank) {
      work.push_back(WorkOf(plan_, {.cluster = cluster, .rank = rank}));
      MakeSlice(work.back(), chunk_begin, chunk);
    }
    TokenRows& partial = partials_[static_cast<size_t>(cluster)];
    for (const CtaWork& cta : work) {
      for (const WeightSlot& slot : cta.down) {
        for (const WeightBox& box : slot.boxes) {
          Multiply(box, slot, chunk, chunk_begin, 0, 0, partial);
        }
      }
    }
  }

  void WriteUnit(const OutputUnit& unit) {
    constexpr int kBlockTokens = 8;
    const int64_t token_end = std::min<int64_t>(unit.token_begin + kBlockTokens, operands_.tokens);
    for (int64_t row = unit.row_begin; row < unit.row_begin + unit.num_rows; ++row) {
      for (int64_t token = unit.token_begin; token < token_end; ++token) {
        float sum = 0.0f;
        for (const TokenRows& partial : partials_) sum += partial.Row(row)[token];
        const auto index = static_cast<size_t>(token * hidden_ + row);
        y_[index] = FloatToBf16(sum);
        if (plan_.problem.residual_mode == ResidualMode::kAddAfter) {
          y_[index] = FloatToBf16(Bf16ToFloat(y_[index]) + Bf16ToFloat(operands_.residual[index]));
        }
      }
    }
  }

  const FusionPlan& plan_;
  const FfnOperands& operands_;
  int64_t hidden_;
  int64_t intermediate_;
  int tile_;
  TokenRows x_;                      // [hidden], rows at and beyond `tokens` zero
  std::vector<TokenRows> partials_;  // of each cluster: [hidden]
  std::vector<uint16_t> y_;
};

absl::Status CheckSize(std::string_view name, size_t size, int64_t expected) {
  if (static_cast<int64_t>(size) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("interpreter: ", name, " has ", size, " elements; the problem has ", expected));
}

}  // namespace

absl::StatusOr<std::vector<uint16_t>> Interpret(const FusionPlan& plan,
                                                const FfnOperands& operands) {
  const FfnProblem& problem = plan.problem;
  const int64_t weights = problem.hidden.value() * problem.intermediate.value();
  const int64_t activations = operands.tokens * problem.hidden.value();
  if (operands.tokens < 0 || operands.tokens > plan.token_tile) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interpreter: ", operands.tokens, " tokens; the plan's tile holds ", plan.token_tile));
  }
  FUSEBOX_RETURN_IF_ERROR(
      CheckSize("gate", operands.gate.size(), problem.form == FfnForm::kGated ? weights : 0));
  FUSEBOX_RETURN_IF_ERROR(CheckSize("up", operands.up.size(), weights));
  FUSEBOX_RETURN_IF_ERROR(CheckSize("down", operands.down.size(), weights));
  FUSEBOX_RETURN_IF_ERROR(CheckSize("x", operands.x.size(), activations));
  FUSEBOX_RETURN_IF_ERROR(
      CheckSize("residual", operands.residual.size(),
                problem.residual_mode == ResidualMode::kAddAfter ? activations : 0));
  return PlanRun(plan, operands).Run();
}

}  // namespace fusebox
