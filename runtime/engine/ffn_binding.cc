#include "runtime/engine/ffn_binding.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/engine/struct_size.h"
#include "runtime/launch/tensor_map.h"
#include "src/base/status.h"

namespace fusebox {

struct BoundWeights {
  MatrixView gate;  // plain: up
  MatrixView up;
  MatrixView down;
};

namespace {

constexpr int64_t kPitchElements = 8;  // 16 bytes of bf16
constexpr uintptr_t kPointerAlignment = 16;

// A matrix as the caller names it.
struct NamedMatrix {
  const char* name;
  const void* data;
  int64_t leading_dimension;  // 0: packed
};

absl::Status CheckOnDevice(const Engine& engine, const NamedMatrix& matrix) {
  const DriverApi& driver = engine.driver();
  const CUdeviceptr pointer = reinterpret_cast<CUdeviceptr>(matrix.data);
  unsigned int memory_type = 0;
  int ordinal = -1;
  if (driver.PointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) !=
          CUDA_SUCCESS ||
      memory_type != CU_MEMORYTYPE_DEVICE) {
    return absl::InvalidArgumentError(
        absl::StrFormat("weights: %s %p is no device memory; pass a pointer to memory of GPU %d",
                        matrix.name, matrix.data, engine.device_ordinal()));
  }
  if (driver.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) ==
          CUDA_SUCCESS &&
      ordinal != engine.device_ordinal()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "weights: %s %p lies on GPU %d, but the op's engine is for GPU %d; make one engine a GPU",
        matrix.name, matrix.data, ordinal, engine.device_ordinal()));
  }
  return absl::OkStatus();
}

absl::StatusOr<MatrixView> ViewOf(const Engine& engine, const NamedMatrix& matrix, int64_t rows,
                                  int64_t columns) {
  if (matrix.data == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("weights: ", matrix.name,
                                                   " is NULL; the op needs a [", rows, ", ",
                                                   columns, "] matrix there"));
  }
  if (reinterpret_cast<uintptr_t>(matrix.data) % kPointerAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("weights: %s %p is not aligned to 16 bytes (TMA needs it); align its rows",
                        matrix.name, matrix.data));
  }
  const int64_t stride = matrix.leading_dimension == 0 ? columns : matrix.leading_dimension;
  if (stride < columns) {
    return absl::InvalidArgumentError(absl::StrCat("weights: leading dimension ", stride, " of ",
                                                   matrix.name, " is below its width, ", columns));
  }
  if (stride % kPitchElements != 0) {
    return Declined(
        "row_pitch",
        absl::StrCat("leading dimension ", stride, " of ", matrix.name,
                     " is not a multiple of 8 elements (TMA needs a 16-byte pitch); pad "
                     "to ",
                     RoundUp(stride, kPitchElements)));
  }
  FUSEBOX_RETURN_IF_ERROR(CheckOnDevice(engine, matrix));
  return MatrixView{.data = matrix.data, .rows = rows, .columns = columns, .row_stride = stride};
}

absl::Status CheckUnused(const NamedMatrix& matrix, std::string_view why) {
  if (matrix.data == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weights: ", matrix.name, " must be NULL: ", why));
}

MatrixView RowsFrom(const MatrixView& matrix, int64_t first_row, int64_t rows) {
  constexpr int64_t kBytesPerElement = 2;
  MatrixView part = matrix;
  part.data =
      static_cast<const char*>(matrix.data) + first_row * matrix.row_stride * kBytesPerElement;
  part.rows = rows;
  return part;
}

absl::StatusOr<BoundWeights> ReadWeights(const FfnOp& op, const fusebox_ffn_weights* from) {
  fusebox_ffn_weights weights;
  FUSEBOX_RETURN_IF_ERROR(ReadStruct(from, "fusebox_ffn_weights", &weights));
  const FfnProblem& problem = op.spec().problem;
  const Engine& engine = op.engine();
  const int64_t hidden = problem.hidden.value();
  const int64_t intermediate = problem.intermediate.value();
  const NamedMatrix gate_up{"gate_up", weights.gate_up, weights.gate_up_ld};
  const NamedMatrix gate{"gate", weights.gate, weights.gate_ld};
  const NamedMatrix up{"up", weights.up, weights.up_ld};
  const bool is_gated = problem.form == FfnForm::kGated;

  BoundWeights bound;
  if (is_gated && op.spec().gate_up != GateUp::kSeparate) {
    FUSEBOX_RETURN_IF_ERROR(CheckUnused(gate, "the op's gate_up names one matrix"));
    FUSEBOX_RETURN_IF_ERROR(CheckUnused(up, "the op's gate_up names one matrix"));
    FUSEBOX_ASSIGN_OR_RETURN(const MatrixView both,
                             ViewOf(engine, gate_up, 2 * intermediate, hidden));
    const bool gate_first = op.spec().gate_up == GateUp::kFused;
    bound.gate = RowsFrom(both, gate_first ? 0 : intermediate, intermediate);
    bound.up = RowsFrom(both, gate_first ? intermediate : 0, intermediate);
  } else {
    FUSEBOX_RETURN_IF_ERROR(CheckUnused(gate_up, is_gated ? "the op's gate_up names two matrices"
                                                          : "the op is plain and has only up"));
    FUSEBOX_ASSIGN_OR_RETURN(bound.up, ViewOf(engine, up, intermediate, hidden));
    if (is_gated) {
      FUSEBOX_ASSIGN_OR_RETURN(bound.gate, ViewOf(engine, gate, intermediate, hidden));
    } else {
      FUSEBOX_RETURN_IF_ERROR(CheckUnused(gate, "the op is plain and has only up"));
      bound.gate = bound.up;  // never read; kept valid all the same
    }
  }
  FUSEBOX_ASSIGN_OR_RETURN(
      bound.down, ViewOf(engine, {"down", weights.down, weights.down_ld}, hidden, intermediate));
  return bound;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FfnBinding>> FfnBinding::Bind(std::shared_ptr<FfnOp> op,
                                                             const fusebox_ffn_weights* weights) {
  FUSEBOX_RETURN_IF_ERROR(op->engine().RequireDevice("a binding"));
  FUSEBOX_ASSIGN_OR_RETURN(const BoundWeights bound, ReadWeights(*op, weights));
  std::unique_ptr<FfnBinding> binding(new FfnBinding(std::move(op)));
  FUSEBOX_RETURN_IF_ERROR(binding->EncodeMaps(bound));
  return binding;
}

absl::Status FfnBinding::EncodeMaps(const BoundWeights& weights) {
  const DriverApi& driver = op_->engine().driver();
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    if (!op_->IsServed(i)) continue;
    const FusionPlan& plan = op_->Planned(i).report.best.plan;
    const struct {
      const MatrixView& matrix;
      int box_rows;
      TensorMap* map;
    } maps[] = {{weights.gate, plan.up.rows_per_cta, &params_[i].gate},
                {weights.up, plan.up.rows_per_cta, &params_[i].up},
                {weights.down, plan.down.rows_per_pass, &params_[i].down}};
    for (const auto& [matrix, box_rows, map] : maps) {
      FUSEBOX_RETURN_IF_ERROR(CudaStatus(driver, EncodeTensorMap(driver, matrix, box_rows, map),
                                         "cuTensorMapEncodeTiled"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fusebox
