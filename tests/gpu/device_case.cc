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

absl::StatusOr<DeviceBuffer> Uploaded(const GpuSession& session, const char* name,
                                      const std::vector<uint16_t>& values) {
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                           DeviceBuffer::Make(session, name, values.size() * kElementBytes));
  FUSEBOX_RETURN_IF_ERROR(buffer.UploadAll(values));
  return buffer;
}

bool IsGated(const FfnProblem& problem) { return problem.form == FfnForm::kGated; }

}  // namespace

absl::StatusOr<DeviceCase> DeviceCase::Make(const GpuSession& session,
                                            const reference::FfnCase& values,
                                            const WeightArrangement& arrangement) {
  const int64_t hidden = values.problem.hidden.value();
  std::vector<uint16_t> up;
  std::vector<uint16_t> gate;
  std::vector<uint16_t> down;
  const auto append = [&](const std::vector<uint16_t>& rows, std::vector<uint16_t>& out) {
    AppendPadded(rows, hidden, arrangement.padding, out);
  };
  if (IsGated(values.problem) && arrangement.gate_up == FUSEBOX_GATE_UP_FUSED) {
    append(values.gate, up);
  }
  append(values.up, up);
  if (IsGated(values.problem) && arrangement.gate_up == FUSEBOX_GATE_UP_REVERSED) {
    append(values.gate, up);
  }
  if (arrangement.gate_up == FUSEBOX_GATE_UP_SEPARATE) append(values.gate, gate);
  AppendPadded(values.down, values.problem.intermediate.value(), arrangement.padding, down);
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer up_buffer, Uploaded(session, "up", up));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer gate_buffer, Uploaded(session, "gate", gate));
  FUSEBOX_ASSIGN_OR_RETURN(DeviceBuffer down_buffer, Uploaded(session, "down", down));
  return DeviceCase(&values, arrangement, std::move(up_buffer), std::move(gate_buffer),
                    std::move(down_buffer));
}

fusebox_ffn_desc DeviceCase::desc() const {
  fusebox_ffn_desc desc = DescOf(problem());
  desc.gate_up = arrangement_.gate_up;
  return desc;
}

fusebox_ffn_weights DeviceCase::weights() const {
  fusebox_ffn_weights weights = api::FfnWeights();
  const int64_t up_ld = problem().hidden.value() + arrangement_.padding;
  if (IsGated(problem()) && arrangement_.gate_up != FUSEBOX_GATE_UP_SEPARATE) {
    weights.gate_up = up_.as<void>();
    weights.gate_up_ld = up_ld;
  } else {
    weights.up = up_.as<void>();
    weights.up_ld = up_ld;
    if (IsGated(problem())) {
      weights.gate = gate_.as<void>();
      weights.gate_ld = up_ld;
    }
  }
  weights.down = down_.as<void>();
  weights.down_ld = problem().intermediate.value() + arrangement_.padding;
  return weights;
}

MatrixView DeviceCase::Rows(const DeviceBuffer& buffer, int64_t first, int64_t rows,
                            int64_t columns) const {
  const int64_t stride = columns + arrangement_.padding;
  return {.data = buffer.as<uint16_t>() + first * stride,
          .rows = rows,
          .columns = columns,
          .row_stride = stride};
}

FfnOperandViews DeviceCase::views() const {
  const int64_t hidden = problem().hidden.value();
  const int64_t intermediate = problem().intermediate.value();
  const bool is_fused = IsGated(problem()) && arrangement_.gate_up == FUSEBOX_GATE_UP_FUSED;
  FfnOperandViews views;
  views.up = Rows(up_, is_fused ? intermediate : 0, intermediate, hidden);
  if (IsGated(problem())) {
    const bool is_separate = arrangement_.gate_up == FUSEBOX_GATE_UP_SEPARATE;
    views.gate = is_separate ? Rows(gate_, 0, intermediate, hidden)
                             : Rows(up_, is_fused ? 0 : intermediate, intermediate, hidden);
  }
  views.down = Rows(down_, 0, hidden, intermediate);
  return views;
}

absl::Status DeviceCase::Load(const LaunchBuffers& buffers, int64_t tokens) const {
  FUSEBOX_RETURN_IF_ERROR(buffers.x().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.y().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.residual().Poison());
  FUSEBOX_RETURN_IF_ERROR(buffers.x().UploadRows(values_->x, tokens));
  if (values_->residual.empty()) return absl::OkStatus();
  return buffers.residual().UploadRows(values_->residual, tokens);
}

}  // namespace fusebox
