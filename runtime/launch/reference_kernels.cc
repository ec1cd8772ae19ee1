#include "runtime/launch/reference_kernels.h"

#include <utility>

#include "runtime/driver/cuda_status.h"
#include "src/base/status.h"
#include "src/base/strong_int.h"
#include "src/source/emit_reference.h"

namespace fusebox {
namespace {

// As kernels_templates/kernels/ffn_reference.cuh and reference_compare.cuh.
constexpr int kWarpThreads = 32;
constexpr int64_t kWarps = 8;
constexpr int64_t kTokensOfAGroup = 4;
constexpr int kCompareThreads = 1024;

constexpr size_t kMemoryAlignment = 256;

// As the structs of that name in kernels_templates/kernels/ffn_reference.cuh.
struct ReferenceMatrix {
  const void* values;
  int64_t row_stride;
};
struct ReferenceWeights {
  const void* values;
  int64_t output_stride;
  int64_t input_stride;
};
struct ReferenceDims {
  int64_t hidden;
  int64_t intermediate;
  int64_t tokens;
};
struct ReferenceVectors {
  const uint16_t* gate_bias;
  const uint16_t* up_bias;
  const uint16_t* down_bias;
  const uint16_t* norm_weight;
  const uint16_t* norm_bias;
  const uint16_t* second_norm_weight;
  double eps;
};

ReferenceMatrix MatrixOf(const MatrixView& view) {
  return {.values = view.data, .row_stride = view.row_stride};
}

ReferenceWeights WeightsOf(const MatrixView& view, WeightLayout layout) {
  const bool by_rows = layout == WeightLayout::kOutIn;
  return {.values = view.data,
          .output_stride = by_rows ? view.row_stride : 1,
          .input_stride = by_rows ? 1 : view.row_stride};
}

ReferenceVectors VectorsOf(const FfnVectorViews& views) {
  return {.gate_bias = views.gate_bias,
          .up_bias = views.up_bias,
          .down_bias = views.down_bias,
          .norm_weight = views.norm_weight,
          .norm_bias = views.norm_bias,
          .second_norm_weight = views.second_norm_weight,
          .eps = static_cast<double>(views.eps)};
}

// Pieces of memory one behind the other.
struct Pieces {
  CUdeviceptr at = 0;

  template <typename Element>
  Element* Take(int64_t count) {
    Element* const taken = reinterpret_cast<Element*>(at);
    at += static_cast<size_t>(RoundUp(count * static_cast<int64_t>(sizeof(Element)),
                                      static_cast<int64_t>(kMemoryAlignment)));
    return taken;
  }
  ReferenceRows TakeRows(int64_t count) {
    double* const values = Take<double>(count);
    return {.values = values, .errors = Take<double>(count)};
  }
};

ReferenceMemory Carve(Pieces& pieces, const FfnProblem& problem, int64_t tokens) {
  const int64_t outputs = tokens * problem.hidden.value();
  ReferenceMemory memory;
  memory.rows = pieces.TakeRows(outputs);
  memory.h = pieces.TakeRows(tokens * problem.intermediate.value());
  memory.y = pieces.TakeRows(outputs);
  if (problem.residual_mode == ResidualMode::kAddBeforeNorm)
    memory.sums = pieces.Take<uint16_t>(outputs);
  return memory;
}

struct Grid {
  int64_t x = 1;
  int64_t y = 1;
  int64_t threads = kWarpThreads;
};

// `parameters` point at the arguments, in the kernel's order and of its types.
template <size_t kCount>
CUresult Enqueue(const DriverApi& api, CUfunction function, const Grid& grid,
                 void* const (&parameters)[kCount], CUstream stream) {
  return api.LaunchKernel(function, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), 1,
                          static_cast<unsigned>(grid.threads), 1, 1, 0, stream,
                          const_cast<void**>(parameters), nullptr);
}

}  // namespace

size_t ReferenceMemory::BytesFor(const FfnProblem& problem, int64_t tokens) {
  Pieces pieces;
  (void)Carve(pieces, problem, tokens);
  return static_cast<size_t>(pieces.at);
}

ReferenceMemory ReferenceMemory::At(CUdeviceptr memory, const FfnProblem& problem, int64_t tokens) {
  Pieces pieces = {.at = memory};
  return Carve(pieces, problem, tokens);
}

ReferenceKernels::ReferenceKernels(std::shared_ptr<PrimaryContext> context,
                                   const FfnProblem& problem, UniqueLibrary library)
    : context_(std::move(context)), problem_(problem), library_(std::move(library)) {}

absl::StatusOr<std::unique_ptr<const ReferenceKernels>> ReferenceKernels::Load(
    std::shared_ptr<PrimaryContext> context, const FfnProblem& problem,
    const CompiledKernel& kernel) {
  const DriverApi& api = context->api();
  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scoped, ScopedContext::Enter(*context));
  CUlibrary library = nullptr;
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(
      api,
      api.LibraryLoadData(&library, kernel.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "cuLibraryLoadData"));
  UniqueLibrary owned(context->shared_api(), library);
  std::unique_ptr<ReferenceKernels> made(
      new ReferenceKernels(std::move(context), problem, std::move(owned)));
  const struct {
    const char* entry;
    CUfunction* function;
  } entries[] = {{kReferenceRowsEntry, &made->rows_},
                 {kReferenceIntermediateEntry, &made->intermediate_},
                 {kReferenceOutputEntry, &made->output_},
                 {kReferenceSecondNormEntry, &made->second_norm_},
                 {kReferenceCompareEntry, &made->compare_}};
  for (const auto& [entry, function] : entries) {
    CUkernel found = nullptr;
    FUSEBOX_RETURN_IF_ERROR(
        CudaStatus(api, api.LibraryGetKernel(&found, library, entry), "cuLibraryGetKernel"));
    FUSEBOX_RETURN_IF_ERROR(
        CudaStatus(api, api.KernelGetFunction(function, found), "cuKernelGetFunction"));
  }
  return std::unique_ptr<const ReferenceKernels>(std::move(made));
}

CUresult ReferenceKernels::Compute(const FfnOperandViews& operands, const ReferenceMemory& memory,
                                   CUstream stream) const {
  const DriverApi& api = context_->api();
  ReferenceDims dims = {.hidden = problem_.hidden.value(),
                        .intermediate = problem_.intermediate.value(),
                        .tokens = operands.x.rows};
  ReferenceWeights gate = WeightsOf(operands.gate, problem_.layout);
  ReferenceWeights up = WeightsOf(operands.up, problem_.layout);
  ReferenceWeights down = WeightsOf(operands.down, problem_.layout);
  ReferenceMatrix x = MatrixOf(operands.x);
  ReferenceMatrix residual = MatrixOf(operands.residual);
  ReferenceVectors vectors = VectorsOf(operands.vectors);
  ReferenceMemory at = memory;
  const Grid tokens = {.y = dims.tokens};
  const auto projections = [&dims](int64_t rows) {
    return Grid{.x = CeilDiv(rows, kWarps),
                .y = CeilDiv(dims.tokens, kTokensOfAGroup),
                .threads = kWarps * kWarpThreads};
  };

  void* const rows_parameters[] = {&x, &residual, &vectors, &dims, &at.rows, &at.sums};
  CUresult result = Enqueue(api, rows_, tokens, rows_parameters, stream);
  if (result != CUDA_SUCCESS) return result;
  void* const up_parameters[] = {&gate, &up, &vectors, &dims, &at.rows, &at.h};
  result = Enqueue(api, intermediate_, projections(dims.intermediate), up_parameters, stream);
  if (result != CUDA_SUCCESS) return result;
  void* const down_parameters[] = {&down, &residual, &vectors, &dims, &at.h, &at.y};
  result = Enqueue(api, output_, projections(dims.hidden), down_parameters, stream);
  if (result != CUDA_SUCCESS || problem_.residual_mode != ResidualMode::kSandwich) return result;
  void* const norm_parameters[] = {&x, &vectors, &dims, &at.y};
  return Enqueue(api, second_norm_, tokens, norm_parameters, stream);
}

CUresult ReferenceKernels::Compare(const MatrixView& y, const MatrixView& residual_out,
                                   const ReferenceMemory& memory, ReferenceReport* report,
                                   uint64_t sequence, CUstream stream) const {
  ReferenceDims dims = {.hidden = problem_.hidden.value(),
                        .intermediate = problem_.intermediate.value(),
                        .tokens = y.rows};
  ReferenceMatrix written = MatrixOf(y);
  ReferenceMatrix written_sums = MatrixOf(residual_out);
  ReferenceMemory at = memory;
  void* const parameters[] = {&written, &written_sums, &dims, &at.y, &at.sums, &report, &sequence};
  return Enqueue(context_->api(), compare_, {.threads = kCompareThreads}, parameters, stream);
}

}  // namespace fusebox
