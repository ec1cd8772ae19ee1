// DeviceCase is an FfnCase of tests/reference on the GPU: its weights with leading dimensions above
// their width, gate and up (and their biases) in one matrix, in the other order, or in two.
// REQUIRES: the session outlives it.
#ifndef FUSEBOX_TESTS_GPU_DEVICE_CASE_H_
#define FUSEBOX_TESTS_GPU_DEVICE_CASE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/launch/ffn_operands.h"
#include "runtime/tools/device_buffer.h"
#include "runtime/tools/launch_buffers.h"
#include "tests/reference/ffn_case.h"

namespace fusebox {

struct WeightArrangement {
  fusebox_gate_up gate_up = FUSEBOX_GATE_UP_FUSED;
  int64_t padding = 0;  // elements between rows, NaN; a multiple of 8
};

class DeviceCase {
 public:
  static absl::StatusOr<DeviceCase> Make(const GpuSession& session,
                                         const reference::FfnCase& values,
                                         const WeightArrangement& arrangement = {});

  fusebox_ffn_desc desc() const;
  fusebox_ffn_weights weights() const;
  FfnOperandViews views() const;  // weights only

  // x (and the residual) of the case into `buffers`: the first `tokens` rows, NaN beyond; y and
  // residual_out NaN.
  absl::Status Load(const LaunchBuffers& buffers, int64_t tokens) const;

  const reference::FfnCase& values() const { return *values_; }
  const FfnProblem& problem() const { return values_->problem; }

 private:
  DeviceCase(const reference::FfnCase* values, const WeightArrangement& arrangement,
             DeviceBuffer up, DeviceBuffer gate, DeviceBuffer down, DeviceBuffer vectors)
      : values_(values),
        arrangement_(arrangement),
        up_(std::move(up)),
        gate_(std::move(gate)),
        down_(std::move(down)),
        vectors_(std::move(vectors)) {}
  FfnVectorViews vectors() const;

  // Outputs first_output .. first_output + outputs of a matrix of all_outputs.
  struct WeightPart {
    int64_t first_output;
    int64_t outputs;
    int64_t all_outputs;
    int64_t inputs;
  };
  int64_t UpOutputs() const;
  int64_t StrideOf(int64_t outputs, int64_t inputs) const;
  MatrixView Part(const DeviceBuffer& buffer, const WeightPart& part) const;

  const reference::FfnCase* values_;  // outlives this
  WeightArrangement arrangement_;
  DeviceBuffer up_;    // FUSED: gate, then up; REVERSED: up, then gate; SEPARATE and plain: up
  DeviceBuffer gate_;  // SEPARATE
  DeviceBuffer down_;
  DeviceBuffer vectors_;  // in VectorsOf's order, each followed by NaN
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_GPU_DEVICE_CASE_H_
