#include "tests/gpu/device_case.h"

#include <algorithm>

#include "runtime/tools/ffn_layer.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr size_t kElementBytes = 2;

void AppendPadded(const std::vector<uint16_t>& values, int64_t columns, int64_t padding,
                  std::vector<uint16_t>& out) {
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(columns)) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(begin);
    out.insert(out.end(), row, row + columns);
    out.insert(out.end(), static_cast<size_t>(padding), kNanBits);
  }
}

// [rows, columns] as [columns, rows].
std::vector<uint16_t> Transposed(const std::vector<uint16_t>& values, int64_t columns) {
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  std::vector<uint16_t> transposed(values.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      transposed[static_cast<size_t>(column * rows + row)] =
          values[static_cast<size_t>(row * columns + column)];
    }
  }
  return transposed;
}

// A weight matrix, [outputs, inputs], as the layout has it, with padding behind each row.
std::vector<uint16_t> LaidOut(const std::vector<uint16_t>& values, int64_t inputs,
                              WeightLayout layout, int64_t padding) {
  std::vector<uint16_t> out;
  if (layout == WeightLayout::kOutIn) {
    AppendPadded(values, inputs, padding, out);
  } else if (!values.empty()) {
    AppendPadded(Transposed(values, inputs), static_cast<int64_t>(values.size()) / inputs, padding,
                 out);
  }
  return out;
}

absl::StatusOr<DeviceBuffer> Uploaded(const GpuSession& session, const char* name,
                                      const std::vector<uint16_t>& values) {
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                           DeviceBuffer::Make(session, name, values.size() * kElementBytes));
  FUSEBOX_RETURN_IF_ERROR(buffer.UploadAll(values));
  return buffer;
}

bool IsGated(const FfnProblem& problem) { return problem.form == FfnForm::kGated; }

constexpr int64_t kVectorGap = 8;  // elements of NaN behind each vector

// The case's vectors as they lie behind each other; the biases of gate and up without a gap, in the
// order of their matrix.
std::vector<const std::vector<uint16_t>*> VectorsOf(const reference::FfnCase& values,
                                                    fusebox_gate_up gate_up) {
  std::vector<const std::vector<uint16_t>*> vectors = {
      &values.gate_bias,   &values.up_bias,   &values.down_bias,
      &values.norm_weight, &values.norm_bias, &values.second_norm_weight};
  if (gate_up == FUSEBOX_GATE_UP_REVERSED) std::swap(vectors[0], vectors[1]);
  return vectors;
}

int64_t GapBehind(size_t vector_index) { return vector_index == 0 ? 0 : kVectorGap; }

std::vector<uint16_t> PackedVectors(const reference::FfnCase& values, fusebox_gate_up gate_up) {
  std::vector<uint16_t> packed;
  size_t index = 0;
  for (const std::vector<uint16_t>* vector : VectorsOf(values, gate_up)) {
    packed.insert(packed.end(), vector->begin(), vector->end());
    packed.insert(packed.end(), static_cast<size_t>(GapBehind(index++)), kNanBits);
  }
  return packed;
}

}  // namespace

absl::StatusOr<DeviceCase> DeviceCase::Make(const GpuSession& session,
                                            const reference::FfnCase& values,
                                            const WeightArrangement& arrangement) {
  const FfnProblem& problem = values.problem;
  std::vector<uint16_t> up = values.up;
  std::vector<uint16_t> gate;
  if (IsGated(problem)) {
    switch (arrangement.gate_up) {
      case FUSEBOX_GATE_UP_FUSED:
        up.insert(up.begin(), values.gate.begin(), values.gate.end());
        break;
      case FUSEBOX_GATE_UP_REVERSED:
        up.insert(up.end(), values.gate.begin(), values.gate.end());
        break;
      default:
        gate = values.gate;
    }
  }
  const auto laid_out = [&](const std::vector<uint16_t>& matrix, int64_t inputs) {
    return LaidOut(matrix, inputs, problem.layout, arrangement.padding);
  };
  up = laid_out(up, problem.hidden.value());
  gate = laid_out(gate, problem.hidden.value());
  const std::vector<uint16_t> down = laid_out(values.down, problem.intermediate.value());
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer up_buffer, Uploaded(session, "up", up));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer gate_buffer, Uploaded(session, "gate", gate));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer down_buffer, Uploaded(session, "down", down));
  FUSEBOX_ASSIGN_OR_RETURN(
      DeviceBuffer vectors,
      Uploaded(session, "vectors", PackedVectors(values, arrangement.gate_up)));
  return DeviceCase(&values, arrangement, std::move(up_buffer), std::move(gate_buffer),
                    std::move(down_buffer), std::move(vectors));
}

FfnVectorViews DeviceCase::vectors() const {
  FfnVectorViews views = {.eps = problem().norm == Norm::kNone ? 0.0f : values_->eps};
  const bool is_reversed = arrangement_.gate_up == FUSEBOX_GATE_UP_REVERSED;
  const uint16_t** const pointers[] = {is_reversed ? &views.up_bias : &views.gate_bias,
                                       is_reversed ? &views.gate_bias : &views.up_bias,
                                       &views.down_bias,
                                       &views.norm_weight,
                                       &views.norm_bias,
                                       &views.second_norm_weight};
  const uint16_t* next = vectors_.as<uint16_t>();
  size_t index = 0;
  for (const std::vector<uint16_t>* vector : VectorsOf(*values_, arrangement_.gate_up)) {
    if (!vector->empty()) *pointers[index] = next;
    next += static_cast<int64_t>(vector->size()) + GapBehind(index++);
  }
  return views;
}

fusebox_ffn_desc DeviceCase::desc() const {
  fusebox_ffn_desc desc = DescOf(problem());
  desc.gate_up = arrangement_.gate_up;
  return desc;
}

fusebox_ffn_weights DeviceCase::weights() const {
  fusebox_ffn_weights weights = api::FfnWeights();
  const FfnVectorViews views = vectors();
  const int64_t up_ld = StrideOf(UpOutputs(), problem().hidden.value());
  if (IsGated(problem()) && arrangement_.gate_up != FUSEBOX_GATE_UP_SEPARATE) {
    weights.gate_up = up_.as<void>();
    weights.gate_up_ld = up_ld;
    weights.gate_up_bias =
        arrangement_.gate_up == FUSEBOX_GATE_UP_REVERSED ? views.up_bias : views.gate_bias;
  } else {
    weights.up = up_.as<void>();
    weights.up_ld = up_ld;
    weights.up_bias = views.up_bias;
    if (IsGated(problem())) {
      weights.gate_bias = views.gate_bias;
      weights.gate = gate_.as<void>();
      weights.gate_ld = up_ld;
    }
  }
  weights.down = down_.as<void>();
  weights.down_ld = StrideOf(problem().hidden.value(), problem().intermediate.value());
  weights.down_bias = views.down_bias;
  weights.norm_weight = views.norm_weight;
  weights.norm_bias = views.norm_bias;
  weights.second_norm_weight = views.second_norm_weight;
  weights.eps = static_cast<double>(views.eps);
  return weights;
}

// Outputs of the matrix that holds up, and gate where it does not lie apart.
int64_t DeviceCase::UpOutputs() const {
  const bool is_fused = IsGated(problem()) && arrangement_.gate_up != FUSEBOX_GATE_UP_SEPARATE;
  return problem().intermediate.value() * (is_fused ? 2 : 1);
}

int64_t DeviceCase::StrideOf(int64_t outputs, int64_t inputs) const {
  return (problem().layout == WeightLayout::kOutIn ? inputs : outputs) + arrangement_.padding;
}

MatrixView DeviceCase::Part(const DeviceBuffer& buffer, const WeightPart& part) const {
  const int64_t stride = StrideOf(part.all_outputs, part.inputs);
  const bool by_rows = problem().layout == WeightLayout::kOutIn;
  return {.data = buffer.as<uint16_t>() + part.first_output * (by_rows ? stride : 1),
          .rows = by_rows ? part.outputs : part.inputs,
          .columns = by_rows ? part.inputs : part.outputs,
          .row_stride = stride,
          .dtype = problem().dtype};
}

FfnOperandViews DeviceCase::views() const {
  const int64_t hidden = problem().hidden.value();
  const int64_t intermediate = problem().intermediate.value();
  const bool is_fused = IsGated(problem()) && arrangement_.gate_up == FUSEBOX_GATE_UP_FUSED;
  const bool is_separate = arrangement_.gate_up == FUSEBOX_GATE_UP_SEPARATE;
  const auto part_from = [&](int64_t first_output) {
    return WeightPart{first_output, intermediate, UpOutputs(), hidden};
  };
  FfnOperandViews views;
  views.up = Part(up_, part_from(is_fused ? intermediate : 0));
  if (IsGated(problem())) {
    views.gate =
        is_separate ? Part(gate_, part_from(0)) : Part(up_, part_from(is_fused ? 0 : intermediate));
  }
  views.down = Part(down_, {0, hidden, hidden, intermediate});
  views.vectors = vectors();
  return views;
}

absl::Status DeviceCase::Load(const LaunchBuffers& buffers, int64_t tokens) const {
  FUSEBOX_RETURN_IF_ERROR(buffers.x().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.y().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.residual().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.residual_out().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.x().UploadRows(values_->x, tokens));
  if (values_->residual.empty()) return absl::OkStatus();
  return buffers.residual().UploadRows(values_->residual, tokens);
}

}  // namespace fusebox
