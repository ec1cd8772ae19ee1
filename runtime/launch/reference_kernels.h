// ReferenceKernels enqueue the slow oracle of one ffn problem (kernels_templates/kernels/
// ffn_reference.cuh) on a stream: each y in fp64 with the bound on a kernel's distance from it, and
// a comparison with what a kernel wrote. Allocates nothing after Load; the memory is the caller's.
// Immutable; thread-safe. Used by `fusebox verify` and by shadow launches.
#ifndef FUSEBOX_RUNTIME_LAUNCH_REFERENCE_KERNELS_H_
#define FUSEBOX_RUNTIME_LAUNCH_REFERENCE_KERNELS_H_

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "runtime/driver/handles.h"
#include "runtime/launch/ffn_operands.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

// Values and bounds of a dense matrix in device memory.
struct ReferenceRows {
  double* values = nullptr;
  double* errors = nullptr;
};

// Device memory that the oracle of up to `tokens` tokens works in: one piece, laid out here.
struct ReferenceMemory {
  static size_t BytesFor(const FfnProblem& problem, int64_t tokens);
  static ReferenceMemory At(CUdeviceptr memory, const FfnProblem& problem, int64_t tokens);

  ReferenceRows rows;        // [tokens, hidden]: what the block reads
  ReferenceRows h;           // [tokens, intermediate]
  ReferenceRows y;           // [tokens, hidden]
  uint16_t* sums = nullptr;  // [tokens, hidden], mode add_before_norm: x + residual
};

// As the struct of that name in kernels_templates/kernels/reference_compare.cuh.
struct ReferenceReport {
  int64_t num_wrong;     // elements of y outside their bound
  int64_t num_unjudged;  // elements without a finite value and bound
  int64_t worst;         // index of the one that is furthest outside; [tokens, hidden], dense
  double worst_ratio;    // its distance over its bound; infinity for a NaN
  double got;
  double expected;
  int64_t num_wrong_sums;   // elements of residual_out that are not x + residual, bit for bit
  int64_t first_wrong_sum;  // index
  uint64_t sequence;        // written last
};

class ReferenceKernels {
 public:
  static absl::StatusOr<std::unique_ptr<const ReferenceKernels>> Load(
      std::shared_ptr<PrimaryContext> context, const FfnProblem& problem,
      const CompiledKernel& kernel);

  // y (not rounded) and sums of operands.x.rows tokens into `memory`. REQUIRES: the context is
  // current.
  CUresult Compute(const FfnOperandViews& operands, const ReferenceMemory& memory,
                   CUstream stream) const;
  // What a kernel wrote, y and for mode add_before_norm residual_out, against what Compute left in
  // `memory`. `report` is memory that the GPU reaches. REQUIRES: the context is current.
  CUresult Compare(const MatrixView& y, const MatrixView& residual_out,
                   const ReferenceMemory& memory, ReferenceReport* report, uint64_t sequence,
                   CUstream stream) const;

 private:
  ReferenceKernels(std::shared_ptr<PrimaryContext> context, const FfnProblem& problem,
                   UniqueLibrary library);

  std::shared_ptr<PrimaryContext> context_;  // outlives the library
  FfnProblem problem_;
  UniqueLibrary library_;
  CUfunction rows_ = nullptr;
  CUfunction intermediate_ = nullptr;
  CUfunction output_ = nullptr;
  CUfunction second_norm_ = nullptr;
  CUfunction compare_ = nullptr;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_REFERENCE_KERNELS_H_
