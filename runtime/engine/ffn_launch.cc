#include "runtime/engine/ffn_launch.h"

#include <cinttypes>
#include <cstdint>
#include <string_view>

#include "runtime/engine/last_error.h"
#include "runtime/engine/row_overlap.h"
#include "runtime/engine/struct_size.h"
#include "runtime/engine/workspace.h"
#include "runtime/launch/ffn_maps.h"
#include "runtime/launch/kernel_launch.h"
#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr uint32_t kKnownFlags = FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN;
constexpr int64_t kBytesPerElement = 2;  // bf16 and fp16

// A matrix of tokens as the caller names it.
struct Rows {
  const char* name;
  const void* data;
  int64_t stride;
};

fusebox_status CheckRows(const Rows& rows, int64_t hidden) {
  if (rows.data == nullptr) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s is NULL; pass [tokens, %" PRId64 "] device memory",
                          rows.name, hidden);
  }
  if (reinterpret_cast<uintptr_t>(rows.data) % kMatrixAlignment != 0) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s %p is not aligned to 16 bytes; align its rows", rows.name,
                          rows.data);
  }
  if (rows.stride < hidden) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s_stride %" PRId64 " is below the width, %" PRId64
                          "; strides are in elements",
                          rows.name, rows.stride, hidden);
  }
  if (rows.stride > kMaxRowStride) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s_stride %" PRId64 " is above %" PRId64
                          "; strides are in elements",
                          rows.name, rows.stride, kMaxRowStride);
  }
  if (rows.stride % kRowPitchElements != 0) {
    return RecordFailureF(FUSEBOX_DECLINED,
                          "row_pitch: %s_stride %" PRId64
                          " is not a multiple of 8 elements (16 bytes); pad the rows, or run your "
                          "own path",
                          rows.name, rows.stride);
  }
  return FUSEBOX_OK;
}

fusebox_status CheckWorkspace(const Engine& engine, const fusebox_ffn_args& args,
                              size_t needed_bytes) {
  if (args.workspace == nullptr) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: workspace is NULL; pass one of %zu bytes or more that "
                          "fusebox_workspace_init has filled",
                          needed_bytes);
  }
  const size_t recorded_bytes = engine.workspaces().RecordedBytes(args.workspace);
  if (recorded_bytes == 0) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: fusebox_workspace_init was not called for workspace %p on "
                          "this engine; call it once before the first launch",
                          args.workspace);
  }
  if (args.workspace_bytes < needed_bytes || recorded_bytes < needed_bytes) {
    return RecordFailureF(
        FUSEBOX_INVALID_ARGUMENT,
        "ffn_launch: the workspace has %zu bytes and %zu were initialised, but %zu "
        "are needed; ask fusebox_op_workspace_size",
        args.workspace_bytes, recorded_bytes, needed_bytes);
  }
  return FUSEBOX_OK;
}

// Every matrix of tokens that a launch names; strides are resolved.
struct Buffers {
  Rows x;
  Rows y;
  Rows residual;      // what the mode adds: x where no pointer is given
  Rows residual_out;  // null but in mode add_before_norm
};

fusebox_status RefuseUnused(const char* name, ResidualMode mode, const char* remedy) {
  const std::string_view asked = ToString(mode);
  return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                        "ffn_launch: %s is given, but the op's residual mode is %.*s; pass NULL, "
                        "or make the op with %s",
                        name, static_cast<int>(asked.size()), asked.data(), remedy);
}

// Which pointers the residual mode asks for.
fusebox_status CheckResiduals(ResidualMode mode, const fusebox_ffn_args& args, int64_t hidden) {
  const bool takes_residual = TakesResidual(mode);
  if (args.residual != nullptr && !takes_residual) {
    return RefuseUnused("residual", mode, "add_after or add_before_norm");
  }
  if (mode != ResidualMode::kAddBeforeNorm) {
    return args.residual_out == nullptr ? FUSEBOX_OK
                                        : RefuseUnused("residual_out", mode, "add_before_norm");
  }
  for (const Rows& rows :
       {Rows{"residual", args.residual, 0}, Rows{"residual_out", args.residual_out, 0}}) {
    if (rows.data != nullptr) continue;
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s is NULL, but the op's residual mode is add_before_norm; "
                          "pass [tokens, %" PRId64 "] device memory (residual_out may be residual)",
                          rows.name, hidden);
  }
  return FUSEBOX_OK;
}

// What is still being read when it is written, or would be written twice. Where a buffer may be
// another, it may be so row for row only.
fusebox_status CheckOverlaps(ResidualMode mode, const Buffers& buffers, int64_t tokens,
                             int64_t hidden) {
  const bool has_sum = mode == ResidualMode::kAddBeforeNorm;
  const Overlap with_residual = has_sum ? Overlap::kNone : Overlap::kSame;
  const struct {
    const Rows& written;
    const Rows& other;
    bool used;
    Overlap allowed;
  } pairs[] = {{buffers.y, buffers.x, true, Overlap::kNone},
               {buffers.y, buffers.residual, true, with_residual},
               {buffers.y, buffers.residual_out, has_sum, Overlap::kNone},
               {buffers.residual_out, buffers.x, has_sum, Overlap::kNone},
               {buffers.residual_out, buffers.residual, has_sum, Overlap::kSame}};
  for (const auto& [written, other, used, allowed] : pairs) {
    if (!used) continue;
    const Overlap overlap =
        OverlapOf({written.data, written.stride * kBytesPerElement},
                  {other.data, other.stride * kBytesPerElement}, tokens, hidden * kBytesPerElement);
    if (overlap == Overlap::kNone || overlap == allowed) continue;
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: %s %s %s, which is still needed when %s is written; pass "
                          "another buffer for %s",
                          written.name, overlap == Overlap::kSame ? "is" : "overlaps", other.name,
                          written.name, written.name);
  }
  return FUSEBOX_OK;
}

fusebox_status ReadBuffers(const FfnProblem& problem, const fusebox_ffn_args& args,
                           Buffers* buffers) {
  const int64_t hidden = problem.hidden.value();
  fusebox_status status = CheckResiduals(problem.residual_mode, args, hidden);
  if (status != FUSEBOX_OK) return status;
  const auto rows_of = [hidden](const char* name, const void* data, int64_t stride) {
    return Rows{name, data, stride == 0 ? hidden : stride};
  };
  buffers->x = rows_of("x", args.x, args.x_stride);
  buffers->y = rows_of("y", args.y, args.y_stride);
  buffers->residual = args.residual == nullptr
                          ? buffers->x
                          : rows_of("residual", args.residual, args.residual_stride);
  buffers->residual_out = rows_of("residual_out", args.residual_out, args.residual_out_stride);
  for (const Rows& rows : {buffers->x, buffers->y, buffers->residual}) {
    status = CheckRows(rows, hidden);
    if (status != FUSEBOX_OK) return status;
  }
  if (problem.residual_mode == ResidualMode::kAddBeforeNorm) {
    status = CheckRows(buffers->residual_out, hidden);
    if (status != FUSEBOX_OK) return status;
  }
  return CheckOverlaps(problem.residual_mode, *buffers, args.tokens, hidden);
}

// Checks all buffers and fills everything of `params` but the weights. REQUIRES: tokens >= 1.
fusebox_status FillParams(const FfnOp& op, const PlannedKernel& planned,
                          const fusebox_ffn_args& args, FfnParams* params) {
  Buffers buffers;
  fusebox_status status = ReadBuffers(op.spec().problem, args, &buffers);
  if (status != FUSEBOX_OK) return status;
  status = CheckWorkspace(op.engine(), args, static_cast<size_t>(planned.source.workspace_bytes));
  if (status != FUSEBOX_OK) return status;

  const FfnProblem& problem = op.spec().problem;
  const MatrixView x{.data = buffers.x.data,
                     .rows = args.tokens,
                     .columns = problem.hidden.value(),
                     .row_stride = buffers.x.stride,
                     .dtype = problem.dtype};
  const CUresult result = EncodeActivationMaps(op.engine().driver(), planned.report.best.plan, x,
                                               args.workspace, params);
  if (result != CUDA_SUCCESS) {
    return RecordFailureF(
        FUSEBOX_CUDA_FAILED,
        "ffn_launch: cuTensorMapEncodeTiled refused the rows of x at %p, stride %" PRId64
        ", or those of the workspace at %p, with %d; please report it",
        x.data, x.row_stride, args.workspace, static_cast<int>(result));
  }
  params->x_rows = static_cast<const unsigned short*>(buffers.x.data);
  params->x_stride = buffers.x.stride;
  params->y = static_cast<unsigned short*>(args.y);
  params->y_stride = buffers.y.stride;
  params->residual = static_cast<const unsigned short*>(buffers.residual.data);
  params->residual_stride = buffers.residual.stride;
  params->residual_out = static_cast<unsigned short*>(args.residual_out);
  params->residual_out_stride = buffers.residual_out.stride;
  return FUSEBOX_OK;
}

// The kernel of the tile; for no tokens that of any tile, as it only keeps the stream's order.
const ReadyKernel* FindKernel(const FfnOp& op, int32_t tokens, size_t* tile_index) {
  const ReadyKernel* ready = op.Ready(*tile_index);
  for (size_t i = 0; ready == nullptr && tokens == 0 && i < kNumTokenTiles; ++i) {
    ready = op.Ready(i);
    if (ready != nullptr) *tile_index = i;
  }
  return ready;
}

// What to answer where no kernel is ready; a kernel that may still come is asked for.
fusebox_status AnswerWithoutKernel(const FfnOp& op, int32_t tokens, size_t tile_index) {
  if (tokens == 0) return FUSEBOX_OK;  // nothing enqueued, nothing late
  if (!op.IsServed(tile_index)) {
    return RecordFailure(FUSEBOX_DECLINED, op.Refusal(tile_index).message());
  }
  if (const absl::Status* const unfit = op.Unfit(tile_index); unfit != nullptr) {
    return RecordFailure(FUSEBOX_DECLINED, unfit->message());
  }
  op.Want(tile_index);
  return RecordFailureF(FUSEBOX_NOT_READY,
                        "the kernel for %d tokens is not there yet; call "
                        "fusebox_op_prepare before, and run your own path meanwhile",
                        tokens);
}

fusebox_status CheckCounts(const FfnOp& op, const fusebox_ffn_args& args) {
  if (args.tokens < 0) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: tokens is %d; a token count is 0 to %d", args.tokens,
                          op.spec().max_tokens);
  }
  if (args.tokens > op.spec().max_tokens) {
    return RecordFailureF(
        FUSEBOX_DECLINED,
        "token_limit: %d tokens are more than the op's max_tokens, %d; run your own "
        "path for larger batches",
        args.tokens, op.spec().max_tokens);
  }
  if ((args.flags & ~kKnownFlags) != 0) {
    return RecordFailureF(FUSEBOX_INVALID_ARGUMENT,
                          "ffn_launch: flags 0x%x has unknown bits; accepted: "
                          "FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN (1)",
                          args.flags);
  }
  return FUSEBOX_OK;
}

ProgrammaticOverlap OverlapFor(const Engine& engine, const fusebox_ffn_args& args) {
  const bool allowed = engine.config().pdl == PdlMode::kOn &&
                       (args.flags & FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN) == 0;
  return allowed ? ProgrammaticOverlap::kAllowed : ProgrammaticOverlap::kForbidden;
}

fusebox_status Launch(const FfnBinding& binding, const fusebox_ffn_args& args, CUstream stream) {
  const FfnOp& op = binding.op();
  fusebox_status status = CheckCounts(op, args);
  if (status != FUSEBOX_OK) return status;
  size_t tile_index = TileIndexFor(args.tokens);
  const ReadyKernel* const ready = FindKernel(op, args.tokens, &tile_index);
  if (ready == nullptr) return AnswerWithoutKernel(op, args.tokens, tile_index);
  FfnParams params = binding.Params(tile_index, ready->rung);
  params.workspace = static_cast<unsigned int*>(args.workspace);
  params.tokens = static_cast<unsigned int>(args.tokens);
  if (args.tokens == 0) {
    params.x = params.h = params.down;  // valid maps; the kernel loads nothing through them
  } else {
    status = FillParams(op, op.Planned(tile_index, ready->rung), args, &params);
    if (status != FUSEBOX_OK) return status;
  }
  FfnShadow* shadow = args.tokens == 0 ? nullptr : binding.DueShadow();
  if (shadow != nullptr && !shadow->Begin(binding.weights(), params, stream)) shadow = nullptr;
  const CUresult result = LaunchKernel(op.engine().driver(), *ready->kernel, params,
                                       OverlapFor(op.engine(), args), stream);
  if (shadow != nullptr) {
    binding.ShadowBegun();
    shadow->End(result, op.Planned(tile_index, ready->rung), params, stream);
  }
  if (result == CUDA_SUCCESS) return FUSEBOX_OK;
  const char* name = nullptr;
  (void)op.engine().driver().GetErrorName(result, &name);
  return RecordFailureF(
      FUSEBOX_CUDA_FAILED,
      "ffn_launch: cuLaunchKernelEx failed with %d %s; the primary context of GPU %d "
      "must be current on the calling thread, and the stream one of it",
      static_cast<int>(result), name == nullptr ? "" : name, op.engine().device_ordinal());
}

void Count(EngineCounters& counters, fusebox_status status) {
  switch (status) {
    case FUSEBOX_OK:
      return counters.launches.Add();
    case FUSEBOX_NOT_READY:
      return counters.launches_not_ready.Add();
    case FUSEBOX_DECLINED:
      return counters.launches_declined.Add();
    default:
      return counters.launches_failed.Add();
  }
}

}  // namespace

fusebox_status LaunchFfn(const FfnBinding& binding, const fusebox_ffn_args* args,
                         struct CUstream_st* stream) {
  fusebox_status status;
  if (args != nullptr && args->struct_size == sizeof(fusebox_ffn_args)) {
    status = Launch(binding, *args, stream);
  } else {
    fusebox_ffn_args known;
    const absl::Status read = ReadStruct(args, "fusebox_ffn_args", &known);
    status = read.ok() ? Launch(binding, known, stream) : Record(read);
  }
  Count(binding.op().engine().counters(), status);
  return status;
}

}  // namespace fusebox
