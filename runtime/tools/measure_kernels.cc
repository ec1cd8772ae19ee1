#include "runtime/tools/measure_kernels.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/strong_int.h"
#include "src/source/emit_measure.h"

namespace fusebox {
namespace {

// As kernels_templates/kernels/measure.cuh: kStreamSlots slots and their barriers.
constexpr int kStreamSmemBytes = 6 * 32768 + 6 * 8 + 128;
constexpr int64_t kFillCtas = 1056;  // 8 an SM of an H200; any number would do

size_t IndexOf(DType dtype) { return dtype == DType::kFp16 ? 1 : 0; }

}  // namespace

absl::StatusOr<MeasureKernels> MeasureKernels::Load(GpuSession& session) {
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source, EmitMeasure(TemplateSet::Embedded()));
  FUSEBOX_ASSIGN_OR_RETURN(ToolModule tool_module, ToolModule::Load(session, source));
  MeasureKernels kernels(&session, std::move(tool_module));
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const std::string fill = absl::StrCat(kFillUniformEntry, ToString(dtype));
    const std::string scale = absl::StrCat(kScaleInPlaceEntry, ToString(dtype));
    FUSEBOX_ASSIGN_OR_RETURN(kernels.fill_[IndexOf(dtype)], kernels.module_.Find(fill.c_str()));
    FUSEBOX_ASSIGN_OR_RETURN(kernels.scale_[IndexOf(dtype)], kernels.module_.Find(scale.c_str()));
  }
  FUSEBOX_ASSIGN_OR_RETURN(kernels.read_, kernels.module_.Find(kReadStreamEntry));
  FUSEBOX_RETURN_IF_ERROR(kernels.module_.AllowDynamicSmem(kernels.read_, kStreamSmemBytes));
  return kernels;
}

absl::Status MeasureKernels::FillUniform(const MatrixView& matrix, float limit,
                                         uint32_t seed) const {
  MatrixView view = matrix;
  void* const parameters[] = {&view.data,       &view.rows, &view.columns,
                              &view.row_stride, &limit,     &seed};
  return module_.Launch(fill_[IndexOf(matrix.dtype)], {.x = kFillCtas, .threads = 256}, parameters,
                        session_->stream());
}

absl::Status MeasureKernels::Scale(DType dtype, CUdeviceptr values, int64_t count,
                                   CUstream stream) const {
  float factor = 1.0f;
  void* const parameters[] = {&values, &count, &factor};
  return module_.Launch(scale_[IndexOf(dtype)], {.x = CeilDiv(count, 256), .threads = 256},
                        parameters, stream);
}

absl::Status MeasureKernels::ReadStream(CUdeviceptr from, int64_t bytes, CUstream stream) const {
  CUdeviceptr sink = from;  // never written
  void* const parameters[] = {&from, &bytes, &sink};
  return module_.Launch(
      read_,
      {.x = session_->device().num_sms, .threads = 32, .dynamic_smem_bytes = kStreamSmemBytes},
      parameters, stream);
}

}  // namespace fusebox
