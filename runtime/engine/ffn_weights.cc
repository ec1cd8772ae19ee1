#include "runtime/engine/ffn_weights.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/engine/ffn_op.h"
#include "runtime/engine/struct_size.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int64_t kBytesPerElement = 2;  // bf16 and fp16

// A matrix as the caller names it.
struct NamedMatrix {
  const char* name;
  const void* data;
  int64_t leading_dimension;  // 0: packed
};

absl::Status NoDeviceMemory(const Engine& engine, const char* name, const void* data,
                            const char* found) {
  return absl::InvalidArgumentError(
      absl::StrFormat("weights: %s %p is no device memory (%s); pass a pointer to memory of GPU %d",
                      name, data, found, engine.device_ordinal()));
}

absl::Status CheckOnDevice(const Engine& engine, const char* name, const void* data) {
  const DriverApi& driver = engine.driver();
  const CUdeviceptr pointer = reinterpret_cast<CUdeviceptr>(data);
  unsigned int memory_type = 0;
  CUresult result =
      driver.PointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (result == CUDA_ERROR_INVALID_VALUE) {  // also of a pointer that is freed already
    return NoDeviceMemory(engine, name, data, "cuPointerGetAttribute knows no allocation there");
  }
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(driver, result, "cuPointerGetAttribute(MEMORY_TYPE)"));
  if (memory_type != CU_MEMORYTYPE_DEVICE) {
    return NoDeviceMemory(engine, name, data, "but the host's, registered with CUDA");
  }
  int ordinal = -1;
  result = driver.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(driver, result, "cuPointerGetAttribute(DEVICE_ORDINAL)"));
  if (ordinal == engine.device_ordinal()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "weights: %s %p lies on GPU %d, but the op's engine is for GPU %d; make one engine a GPU",
      name, data, ordinal, engine.device_ordinal()));
}

absl::StatusOr<MatrixView> ViewOf(const FfnOp& op, const NamedMatrix& matrix, int64_t rows,
                                  int64_t columns) {
  const Engine& engine = op.engine();
  const DType dtype = op.spec().problem.dtype;
  if (matrix.data == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("weights: ", matrix.name,
                                                   " is NULL; the op needs a [", rows, ", ",
                                                   columns, "] matrix there"));
  }
  if (reinterpret_cast<uintptr_t>(matrix.data) % kMatrixAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("weights: %s %p is not aligned to 16 bytes (TMA needs it); align its rows",
                        matrix.name, matrix.data));
  }
  const int64_t stride = matrix.leading_dimension == 0 ? columns : matrix.leading_dimension;
  if (stride < columns) {
    return absl::InvalidArgumentError(absl::StrCat("weights: leading dimension ", stride, " of ",
                                                   matrix.name, " is below its width, ", columns));
  }
  if (stride > kMaxRowStride) {
    return absl::InvalidArgumentError(absl::StrCat("weights: leading dimension ", stride, " of ",
                                                   matrix.name, " is above ", kMaxRowStride,
                                                   "; it is in elements"));
  }
  if (stride % kRowPitchElements != 0) {
    return Declined(
        "row_pitch",
        absl::StrCat("leading dimension ", stride, " of ", matrix.name,
                     " is not a multiple of 8 elements (TMA needs a 16-byte pitch); pad "
                     "to ",
                     RoundUp(stride, kRowPitchElements)));
  }
  FUSEBOX_RETURN_IF_ERROR(CheckOnDevice(engine, matrix.name, matrix.data));
  return MatrixView{
      .data = matrix.data, .rows = rows, .columns = columns, .row_stride = stride, .dtype = dtype};
}

absl::Status CheckUnused(const char* name, const void* data, std::string_view why) {
  if (data == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weights: ", name, " must be NULL: ", why));
}

// The part of a matrix that makes outputs first .. first + count: rows, or in layout in_out
// columns.
MatrixView OutputsFrom(const MatrixView& matrix, WeightLayout layout, int64_t first,
                       int64_t count) {
  MatrixView part = matrix;
  const bool by_rows = layout == WeightLayout::kOutIn;
  const int64_t skipped = by_rows ? first * matrix.row_stride : first;
  part.data = static_cast<const char*>(matrix.data) + skipped * kBytesPerElement;
  (by_rows ? part.rows : part.columns) = count;
  return part;
}

absl::Status ReadMatrices(const FfnOp& op, const fusebox_ffn_weights& weights,
                          FfnWeightViews* views) {
  const FfnProblem& problem = op.spec().problem;
  const int64_t hidden = problem.hidden.value();
  const int64_t intermediate = problem.intermediate.value();
  const NamedMatrix gate_up{"gate_up", weights.gate_up, weights.gate_up_ld};
  const NamedMatrix gate{"gate", weights.gate, weights.gate_ld};
  const NamedMatrix up{"up", weights.up, weights.up_ld};
  const bool is_gated = problem.form == FfnForm::kGated;
  const auto view_of = [&](const NamedMatrix& matrix, int64_t outputs, int64_t inputs) {
    return problem.layout == WeightLayout::kOutIn ? ViewOf(op, matrix, outputs, inputs)
                                                  : ViewOf(op, matrix, inputs, outputs);
  };
  if (is_gated && op.spec().gate_up != GateUp::kSeparate) {
    FUSEBOX_RETURN_IF_ERROR(CheckUnused("gate", weights.gate, "the op's gate_up names one matrix"));
    FUSEBOX_RETURN_IF_ERROR(CheckUnused("up", weights.up, "the op's gate_up names one matrix"));
    FUSEBOX_ASSIGN_OR_RETURN(const MatrixView both, view_of(gate_up, 2 * intermediate, hidden));
    const bool gate_first = op.spec().gate_up == GateUp::kFused;
    const auto half = [&](bool is_first) {
      return OutputsFrom(both, problem.layout, is_first ? 0 : intermediate, intermediate);
    };
    views->gate = half(gate_first);
    views->up = half(!gate_first);
  } else {
    FUSEBOX_RETURN_IF_ERROR(CheckUnused(
        "gate_up", weights.gate_up,
        is_gated ? "the op's gate_up names two matrices" : "the op is plain and has only up"));
    FUSEBOX_ASSIGN_OR_RETURN(views->up, view_of(up, intermediate, hidden));
    if (is_gated) {
      FUSEBOX_ASSIGN_OR_RETURN(views->gate, view_of(gate, intermediate, hidden));
    } else {
      FUSEBOX_RETURN_IF_ERROR(CheckUnused("gate", weights.gate, "the op is plain and has only up"));
      views->gate = views->up;  // never read; kept valid all the same
    }
  }
  FUSEBOX_ASSIGN_OR_RETURN(views->down,
                           view_of({"down", weights.down, weights.down_ld}, hidden, intermediate));
  return absl::OkStatus();
}

// A vector as the caller names it, and what the op makes of it.
struct NamedVector {
  const char* name;
  const void* data;
  int64_t length;
  const char* why_unused;  // null: the op asks for it
};

absl::Status CheckVector(const Engine& engine, const NamedVector& vector) {
  if (vector.why_unused != nullptr) {
    return CheckUnused(vector.name, vector.data, vector.why_unused);
  }
  if (vector.data == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("weights: ", vector.name,
                                                   " is NULL; the op needs a vector of ",
                                                   vector.length, " elements there"));
  }
  if (reinterpret_cast<uintptr_t>(vector.data) % kMatrixAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("weights: %s %p is not aligned to 16 bytes (it is read in such pieces); "
                        "copy it to where cudaMalloc puts it",
                        vector.name, vector.data));
  }
  return CheckOnDevice(engine, vector.name, vector.data);
}

absl::Status ReadBiases(const FfnOp& op, const fusebox_ffn_weights& weights, BoundWeights* bound) {
  const FfnProblem& problem = op.spec().problem;
  const int64_t intermediate = problem.intermediate.value();
  const bool is_gated = problem.form == FfnForm::kGated;
  const bool is_fused = is_gated && op.spec().gate_up != GateUp::kSeparate;
  const auto unused_unless = [&](bool lies_there) {
    return !problem.up_bias ? "the op's biases leave out up"
           : lies_there     ? nullptr
           : !is_gated      ? "the op is plain and has only up"
           : is_fused       ? "the op's gate_up names one matrix"
                            : "the op's gate_up names two matrices";
  };
  const NamedVector vectors[] = {
      {"gate_up_bias", weights.gate_up_bias, 2 * intermediate, unused_unless(is_fused)},
      {"gate_bias", weights.gate_bias, intermediate, unused_unless(is_gated && !is_fused)},
      {"up_bias", weights.up_bias, intermediate, unused_unless(!is_fused)},
      {"down_bias", weights.down_bias, problem.hidden.value(),
       problem.down_bias ? nullptr : "the op's biases leave out down"}};
  for (const NamedVector& vector : vectors) {
    FUSEBOX_RETURN_IF_ERROR(CheckVector(op.engine(), vector));
  }
  bound->gate_bias = weights.gate_bias;
  bound->up_bias = weights.up_bias;
  bound->down_bias = weights.down_bias;
  if (weights.gate_up_bias != nullptr) {
    const bool gate_first = op.spec().gate_up == GateUp::kFused;
    const void* const first = weights.gate_up_bias;
    const void* const second =
        static_cast<const char*>(weights.gate_up_bias) + intermediate * kBytesPerElement;
    bound->gate_bias = gate_first ? first : second;
    bound->up_bias = gate_first ? second : first;
  }
  return absl::OkStatus();
}

absl::Status ReadNorms(const FfnOp& op, const fusebox_ffn_weights& weights, BoundWeights* bound) {
  const FfnProblem& problem = op.spec().problem;
  const int64_t hidden = problem.hidden.value();
  const char* const without_norm = problem.norm == Norm::kNone ? "the op has no norm" : nullptr;
  const char* const without_bias = without_norm != nullptr        ? without_norm
                                   : problem.norm != Norm::kLayer ? "only norm layer has a bias"
                                                                  : nullptr;
  const char* const without_second = problem.residual_mode == ResidualMode::kSandwich
                                         ? nullptr
                                         : "only residual mode sandwich has a second norm";
  FUSEBOX_RETURN_IF_ERROR(
      CheckVector(op.engine(), {"norm_weight", weights.norm_weight, hidden, without_norm}));
  if (weights.norm_bias != nullptr) {  // a LayerNorm may have none
    FUSEBOX_RETURN_IF_ERROR(
        CheckVector(op.engine(), {"norm_bias", weights.norm_bias, hidden, without_bias}));
  }
  FUSEBOX_RETURN_IF_ERROR(CheckVector(
      op.engine(), {"second_norm_weight", weights.second_norm_weight, hidden, without_second}));
  bound->norm_weight = weights.norm_weight;
  bound->norm_bias = weights.norm_bias;
  bound->second_norm_weight = weights.second_norm_weight;
  if (problem.norm == Norm::kNone) return absl::OkStatus();
  bound->eps = static_cast<float>(weights.eps);
  if (bound->eps > 0.0f && std::isfinite(bound->eps)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("weights: eps is ", weights.eps,
                   "; a norm needs one above 0 and finite as fp32: pass the model's, as 1e-5"));
}

}  // namespace

absl::StatusOr<BoundWeights> ReadWeights(const FfnOp& op, const fusebox_ffn_weights* from) {
  fusebox_ffn_weights weights;
  FUSEBOX_RETURN_IF_ERROR(ReadStruct(from, "fusebox_ffn_weights", &weights));
  BoundWeights bound;
  FUSEBOX_RETURN_IF_ERROR(ReadMatrices(op, weights, &bound.matrices));
  FUSEBOX_RETURN_IF_ERROR(ReadBiases(op, weights, &bound));
  FUSEBOX_RETURN_IF_ERROR(ReadNorms(op, weights, &bound));
  return bound;
}

}  // namespace fusebox
