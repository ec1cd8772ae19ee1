#include "src/plan/interpreter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/plan/work_list.h"
#include "src/shape/element.h"

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

// As kernels_templates/epilogue/activation.cuh.
float Activate(Activation activation, DType dtype, float v) {
  const auto round = [&](float value) { return RoundToElement(dtype, value); };
  const float positive = v < 0.0f ? 0.0f : v;
  switch (activation) {
    case Activation::kSilu:
      return v / (1.0f + std::exp(-v));
    case Activation::kGeluErf:
      return 0.5f * v * (1.0f + std::erf(v * std::numbers::sqrt2_v<float> / 2.0f));
    case Activation::kGeluTanh:
      return v / (1.0f + std::exp(-1.5957691216057308f * (v + 0.044715f * v * v * v)));
    case Activation::kReluSquared:
      return positive * positive;
    case Activation::kGeluNew: {
      const float cube = round(round(v * v) * v);
      const float inner = round(v + round(0.044715f * cube));
      const float tanh = round(std::tanh(round(0.7978845608028654f * inner)));
      return round(0.5f * v) * round(1.0f + tanh);
    }
    case Activation::kRelu:
      break;
  }
  return positive;
}

// As kernels_templates/tile/row_norm.cuh: `row` becomes its norm, each element rounded to the
// dtype.
void Normalize(const FfnProblem& problem, absl::Span<const uint16_t> weight,
               absl::Span<const uint16_t> bias, float eps, absl::Span<float> row) {
  const auto count = static_cast<float>(row.size());
  float mean = 0.0f;
  if (problem.norm == Norm::kLayer) {
    for (float value : row) mean += value;
    mean /= count;
  }
  float squares = 0.0f;
  for (float value : row) squares += (value - mean) * (value - mean);
  const float scale = 1.0f / std::sqrt(squares / count + eps);
  for (size_t i = 0; i < row.size(); ++i) {
    float centered = (row[i] - mean) * scale;
    float w = ElementToFloat(problem.dtype, weight[i]);
    if (problem.norm == Norm::kRms) centered = RoundToElement(problem.dtype, centered);
    if (problem.norm == Norm::kRmsPlusOne) w += 1.0f;
    const float b = bias.empty() ? 0.0f : ElementToFloat(problem.dtype, bias[i]);
    row[i] = RoundToElement(problem.dtype, centered * w + b);
  }
}

class PlanRun {
 public:
  PlanRun(const FusionPlan& plan, const FfnOperands& operands)
      : plan_(plan),
        operands_(operands),
        hidden_(plan.problem.hidden.value()),
        intermediate_(plan.problem.intermediate.value()),
        tile_(plan.token_tile),
        x_(hidden_, tile_) {
    const auto num_outputs = static_cast<size_t>(operands.tokens * hidden_);
    out_.y.resize(num_outputs, kQuietNan);
    if (plan.problem.residual_mode == ResidualMode::kAddBeforeNorm)
      out_.residual_out.resize(num_outputs, kQuietNan);
    for (int64_t token = 0; token < operands.tokens; ++token) PrepareRow(token);
    const int num_partials = plan.gathers_over_grid() ? plan.down.k_ctas : plan.num_clusters;
    for (int i = 0; i < num_partials; ++i) partials_.emplace_back(hidden_, tile_);
  }

  FfnOutputs Run() {
    if (plan_.gathers_over_grid()) {
      RunGrid();
    } else {
      for (int cluster = 0; cluster < plan_.num_clusters; ++cluster) RunCluster(cluster);
    }
    for (int cta = 0; cta < plan_.grid_ctas(); ++cta) {
      for (const OutputUnit& unit : WorkOfCta(cta).outputs) WriteUnit(unit);
    }
    if (plan_.problem.residual_mode == ResidualMode::kSandwich) {
      for (int64_t token = 0; token < operands_.tokens; ++token) FinishSandwich(token);
    }
    return std::move(out_);
  }

 private:
  float ToFloat(uint16_t bits) const { return ElementToFloat(plan_.problem.dtype, bits); }
  uint16_t ToElement(float value) const { return FloatToElement(plan_.problem.dtype, value); }
  float Round(float value) const { return RoundToElement(plan_.problem.dtype, value); }
  float RoundAsEngine(float value) const {
    return plan_.problem.rounding == Rounding::kEngine ? Round(value) : value;
  }
  // Of a row of gate or up; 0 where the op has none or the row is none.
  float BiasOf(absl::Span<const uint16_t> biases, int64_t row) const {
    const auto index = static_cast<size_t>(row);
    return index < biases.size() ? ToFloat(biases[index]) : 0.0f;
  }

  // Row `token` of what phase 1 reads: x, with the residual added and the norm applied as the op
  // has it.
  void PrepareRow(int64_t token) {
    const auto begin = static_cast<size_t>(token * hidden_);
    std::vector<float> row;
    for (size_t k = 0; k < static_cast<size_t>(hidden_); ++k) {
      row.push_back(ToFloat(operands_.x[begin + k]));
      if (plan_.problem.residual_mode == ResidualMode::kAddBeforeNorm)
        row[k] = Round(row[k] + ToFloat(operands_.residual[begin + k]));
    }
    sums_.insert(sums_.end(), row.begin(), row.end());
    if (plan_.problem.norm != Norm::kNone) {
      Normalize(plan_.problem, operands_.norm_weight, operands_.norm_bias, operands_.eps,
                absl::MakeSpan(row));
    }
    for (int64_t k = 0; k < hidden_; ++k) x_.Row(k)[token] = row[static_cast<size_t>(k)];
  }

  // y holds the block's output f: becomes x + norm(f).
  void FinishSandwich(int64_t token) {
    const auto begin = static_cast<size_t>(token * hidden_);
    std::vector<float> row;
    for (size_t k = 0; k < static_cast<size_t>(hidden_); ++k)
      row.push_back(ToFloat(out_.y[begin + k]));
    Normalize(plan_.problem, operands_.second_norm_weight, {}, operands_.eps, absl::MakeSpan(row));
    for (size_t k = 0; k < row.size(); ++k)
      out_.y[begin + k] = ToElement(row[k] + sums_[begin + k]);
  }

  absl::Span<const uint16_t> Weights(WeightMatrix matrix) const {
    if (matrix == WeightMatrix::kDown) return operands_.down;
    return matrix == WeightMatrix::kGate ? operands_.gate : operands_.up;
  }

  struct KShare {
    int group;
    int num_groups;
  };

  // sums += the box's weights times operand rows, over the k16 steps that belong to the share.
  // `operand_base`: the matrix column of operand row 0. `row_base`: the matrix row of sums row 0.
  // What lies beyond the matrix is zero fill and adds nothing.
  void Multiply(const WeightBox& box, const WeightSlot& slot, const TokenRows& operand,
                int64_t operand_base, KShare share, int64_t row_base, TokenRows& sums) const {
    const bool is_down = box.matrix == WeightMatrix::kDown;
    const int64_t columns = is_down ? intermediate_ : hidden_;
    const int64_t row_end =
        std::min(box.row_begin + box.num_rows, is_down ? hidden_ : intermediate_);
    const int64_t k_end = std::min(box.used_k_end, columns);
    const int64_t slot_base = operand_base + slot.operand_begin;
    const absl::Span<const uint16_t> weights = Weights(box.matrix);
    for (int64_t row = box.row_begin; row < row_end; ++row) {
      float* out = sums.Row(row - row_base);
      for (int64_t step = box.k_begin; step < k_end; step += kWgmmaK) {
        if ((step - slot_base) / kWgmmaK % share.num_groups != share.group) continue;
        for (int64_t k = step; k < std::min<int64_t>(step + kWgmmaK, k_end); ++k) {
          const float weight = ToFloat(weights[static_cast<size_t>(row * columns + k)]);
          const float* in = operand.Row(k - operand_base);
          for (int token = 0; token < tile_; ++token) out[token] += weight * in[token];
        }
      }
    }
  }

  // Sums of one matrix over all slots, for `num_rows` rows from `row_base`: k groups apart, then
  // added in order.
  TokenRows Sums(const std::vector<WeightSlot>& slots, WeightMatrix matrix,
                 const TokenRows& operand, int64_t operand_base, int64_t row_base,
                 int64_t num_rows) const {
    const bool is_down = matrix == WeightMatrix::kDown;
    const int k_groups = is_down ? plan_.down.k_warpgroups : plan_.up.k_warpgroups;
    TokenRows total(num_rows, tile_);
    for (int group = 0; group < k_groups; ++group) {
      TokenRows sums(num_rows, tile_);
      for (const WeightSlot& slot : slots) {
        for (const WeightBox& box : slot.boxes) {
          if (box.matrix != matrix) continue;
          Multiply(box, slot, operand, operand_base, {group, k_groups}, row_base, sums);
        }
      }
      for (int64_t i = 0; i < num_rows * tile_; ++i) total.Row(0)[i] += sums.Row(0)[i];
    }
    return total;
  }

  // The CTA's slice of h, into `h`, whose row 0 is intermediate row `h_begin`.
  void MakeSlice(const CtaWork& work, int64_t h_begin, TokenRows& h_rows) const {
    const bool is_gated = plan_.problem.form == FfnForm::kGated;
    const auto sums = [&](WeightMatrix matrix) {
      return Sums(work.up, matrix, x_, 0, work.slice_begin, work.slice_rows);
    };
    const TokenRows up = sums(WeightMatrix::kUp);
    const TokenRows gate = is_gated ? sums(WeightMatrix::kGate) : up;
    for (int64_t row = 0; row < work.slice_rows; ++row) {
      const int64_t h_row = work.slice_begin + row;
      const float up_bias = BiasOf(operands_.up_bias, h_row);
      const float gate_bias = is_gated ? BiasOf(operands_.gate_bias, h_row) : up_bias;
      for (int token = 0; token < tile_; ++token) {
        const float first =
            RoundAsEngine(Activate(plan_.problem.activation, plan_.problem.dtype,
                                   RoundAsEngine(gate.Row(row)[token] + gate_bias)));
        const float h = is_gated ? first * RoundAsEngine(up.Row(row)[token] + up_bias) : first;
        h_rows.Row(h_row - h_begin)[token] = Round(h);
      }
    }
  }

  // Phase 2 of one CTA: its output rows into the partial sums.
  void MultiplyDown(const CtaWork& work, const TokenRows& h_rows, int64_t h_begin,
                    TokenRows& partial) const {
    const int64_t num_rows = plan_.down.rows_per_cta();
    const TokenRows sums =
        Sums(work.down, WeightMatrix::kDown, h_rows, h_begin, work.output_begin, num_rows);
    const int64_t rows_left = std::min(num_rows, hidden_ - work.output_begin);
    for (int64_t row = 0; row < rows_left; ++row)
      std::copy_n(sums.Row(row), tile_, partial.Row(work.output_begin + row));
  }

  // Dsm gather: what every CTA holds is the chunk; the cluster makes partial sums of all outputs.
  void RunCluster(int cluster) {
    const int64_t chunk_begin = cluster * plan_.chunk_rows();
    TokenRows chunk(plan_.chunk_rows(), tile_);
    std::vector<CtaWork> work;
    for (int rank = 0; rank < plan_.cluster_size; ++rank) {
      work.push_back(WorkOf(plan_, {.cluster = cluster, .rank = rank}));
      MakeSlice(work.back(), chunk_begin, chunk);
    }
    for (int rank = 0; rank < plan_.cluster_size; ++rank) {
      MultiplyDown(work[static_cast<size_t>(rank)], chunk, chunk_begin,
                   partials_[static_cast<size_t>(cluster)]);
    }
  }

  // Grid gather: all slices first, then each CTA multiplies h, or its part of it.
  void RunGrid() {
    TokenRows h_rows(std::max(plan_.grid_ctas() * plan_.up.rows_per_cta(),
                              plan_.down.k_ctas * plan_.down_k_part()),
                     tile_);
    for (int cta = 0; cta < plan_.grid_ctas(); ++cta) MakeSlice(WorkOfCta(cta), 0, h_rows);
    for (int cta = 0; cta < plan_.grid_ctas(); ++cta) {
      const int part = cta % plan_.cluster_size % plan_.down.k_ctas;
      MultiplyDown(WorkOfCta(cta), h_rows, 0, partials_[static_cast<size_t>(part)]);
    }
  }

  CtaWork WorkOfCta(int cta) const {
    return WorkOf(plan_, {.cluster = cta / plan_.cluster_size, .rank = cta % plan_.cluster_size});
  }

  void WriteUnit(const OutputUnit& unit) {
    const int64_t token_end =
        std::min<int64_t>(unit.token_begin + unit.num_tokens, operands_.tokens);
    for (int64_t row = unit.row_begin; row < unit.row_begin + unit.num_rows; ++row) {
      for (int64_t token = unit.token_begin; token < token_end; ++token) {
        float sum = 0.0f;
        for (const TokenRows& partial : partials_) sum += partial.Row(row)[token];
        WriteOutput(static_cast<size_t>(token * hidden_ + row),
                    sum + BiasOf(operands_.down_bias, row));
      }
    }
  }

  // In mode sandwich y is the block's output until all of a row is there.
  void WriteOutput(size_t index, float value) {
    out_.y[index] = ToElement(value);
    if (plan_.problem.residual_mode == ResidualMode::kAddAfter)
      out_.y[index] = ToElement(ToFloat(out_.y[index]) + ToFloat(operands_.residual[index]));
    if (plan_.problem.residual_mode == ResidualMode::kAddBeforeNorm)
      out_.residual_out[index] = ToElement(sums_[index]);
  }

  const FusionPlan& plan_;
  const FfnOperands& operands_;
  int64_t hidden_;
  int64_t intermediate_;
  int tile_;
  TokenRows x_;                      // [hidden], normalised; tokens at and beyond `tokens` zero
  std::vector<float> sums_;          // [tokens, hidden]: x, or x + residual before the norm
  std::vector<TokenRows> partials_;  // of each cluster or part of k, in order: [hidden]
  FfnOutputs out_;
};

absl::Status CheckSize(std::string_view name, size_t size, int64_t expected) {
  if (static_cast<int64_t>(size) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("interpreter: ", name, " has ", size, " elements; the problem has ", expected));
}

// Which operands a problem has, and of how many elements.
absl::Status CheckSizes(const FfnProblem& problem, const FfnOperands& operands) {
  const int64_t hidden = problem.hidden.value();
  const int64_t intermediate = problem.intermediate.value();
  const bool is_gated = problem.form == FfnForm::kGated;
  const bool has_norm = problem.norm != Norm::kNone;
  const bool has_norm_bias = problem.norm == Norm::kLayer && !operands.norm_bias.empty();
  const bool has_residual = TakesResidual(problem.residual_mode);
  const bool is_sandwich = problem.residual_mode == ResidualMode::kSandwich;
  const struct {
    std::string_view name;
    absl::Span<const uint16_t> elements;
    int64_t expected;
  } kRows[] = {
      {"gate", operands.gate, is_gated ? hidden * intermediate : 0},
      {"up", operands.up, hidden * intermediate},
      {"down", operands.down, hidden * intermediate},
      {"x", operands.x, operands.tokens * hidden},
      {"residual", operands.residual, has_residual ? operands.tokens * hidden : 0},
      {"gate_bias", operands.gate_bias, problem.up_bias && is_gated ? intermediate : 0},
      {"up_bias", operands.up_bias, problem.up_bias ? intermediate : 0},
      {"down_bias", operands.down_bias, problem.down_bias ? hidden : 0},
      {"norm_weight", operands.norm_weight, has_norm ? hidden : 0},
      {"norm_bias", operands.norm_bias, has_norm_bias ? hidden : 0},
      {"second_norm_weight", operands.second_norm_weight, is_sandwich ? hidden : 0},
  };
  for (const auto& row : kRows)
    FUSEBOX_RETURN_IF_ERROR(CheckSize(row.name, row.elements.size(), row.expected));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FfnOutputs> Interpret(const FusionPlan& plan, const FfnOperands& operands) {
  if (operands.tokens < 0 || operands.tokens > plan.token_tile) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interpreter: ", operands.tokens, " tokens; the plan's tile holds ", plan.token_tile));
  }
  FUSEBOX_RETURN_IF_ERROR(CheckSizes(plan.problem, operands));
  return PlanRun(plan, operands).Run();
}

}  // namespace fusebox
