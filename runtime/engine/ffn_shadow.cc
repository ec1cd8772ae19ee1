#include "runtime/engine/ffn_shadow.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/ffn_desc.h"
#include "runtime/engine/planner.h"
#include "src/base/status.h"
#include "src/source/emit_reference.h"

namespace fusebox {

FfnShadow::FfnShadow(Engine& engine, const FfnSpec& spec)
    : engine_(engine), problem_(spec.problem) {}

absl::StatusOr<std::unique_ptr<FfnShadow>> FfnShadow::Make(Engine& engine, const FfnSpec& spec) {
  std::unique_ptr<FfnShadow> shadow(new FfnShadow(engine, spec));
  FUSEBOX_RETURN_IF_ERROR(shadow->Open(spec));
  return shadow;
}

absl::Status FfnShadow::Open(const FfnSpec& spec) {
  const DriverApi& api = engine_.driver();
  const std::shared_ptr<PrimaryContext> context = engine_.shared_context();
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource source,
                           EmitReference(problem_, TemplateSet::Embedded()));
  FUSEBOX_ASSIGN_OR_RETURN(
      const ServedKernel served,
      engine_.kernels().GetOrCompile(source, PermissionFor(engine_.config().compile_mode)));
  FUSEBOX_ASSIGN_OR_RETURN(kernels_, ReferenceKernels::Load(context, problem_, *served.kernel));

  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scoped, ScopedContext::Enter(*context));
  const size_t bytes = ReferenceMemory::BytesFor(problem_, spec.max_tokens);
  CUdeviceptr memory = 0;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api, api.MemAlloc(&memory, bytes), absl::StrCat("cuMemAlloc(", bytes, " bytes)")));
  memory_ = UniqueMemory(context->shared_api(), memory);
  at_ = ReferenceMemory::At(memory, problem_, spec.max_tokens);
  void* report = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api,
                 api.MemHostAlloc(&report, sizeof(ReferenceReport),
                                  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                 "cuMemHostAlloc"));
  report_memory_ = UniqueHostMemory(context->shared_api(), report);
  report_ = new (report) ReferenceReport{};
  CUevent event = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(api, api.EventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  finished_ = UniqueEvent(context->shared_api(), event);
  return absl::OkStatus();
}

FfnShadow::~FfnShadow() {
  if (!engine_.has_device()) return;
  const auto scoped = ScopedContext::Enter(engine_.context());
  if (finished_) (void)engine_.driver().EventSynchronize(finished_.get());
  Collect();
  finished_.Reset();
  report_memory_.Reset();
  memory_.Reset();
}

bool FfnShadow::IsCapturing(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // Refused for the legacy stream while another stream is being captured.
  const CUresult result = engine_.driver().StreamIsCapturing(stream, &status);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

MatrixView FfnShadow::RowsAt(const void* data, int64_t stride) const {
  return {.data = data,
          .rows = tokens_,
          .columns = problem_.hidden.value(),
          .row_stride = stride,
          .dtype = problem_.dtype};
}

bool FfnShadow::Begin(const FfnOperandViews& weights, const FfnParams& params, CUstream stream) {
  if (IsCapturing(stream)) return false;
  Collect();
  State idle = State::kIdle;
  if (!state_.compare_exchange_strong(idle, State::kTaken, std::memory_order_acq_rel)) return false;
  tokens_ = static_cast<int64_t>(params.tokens);
  FfnOperandViews operands = weights;
  operands.x = RowsAt(params.x_rows, params.x_stride);
  operands.residual = RowsAt(params.residual, params.residual_stride);
  const CUresult result = kernels_->Compute(operands, at_, stream);
  if (result == CUDA_SUCCESS) return true;
  GiveUp("cuLaunchKernel(the oracle)", result);
  return false;
}

void FfnShadow::End(CUresult launched, const PlannedKernel& planned, const FfnParams& params,
                    CUstream stream) {
  if (launched != CUDA_SUCCESS) return GiveUp("cuLaunchKernelEx", launched);
  planned_ = &planned;
  const CUresult compared = kernels_->Compare(
      RowsAt(params.y, params.y_stride), RowsAt(params.residual_out, params.residual_out_stride),
      at_, report_, ++sequence_, stream);
  if (compared != CUDA_SUCCESS) return GiveUp("cuLaunchKernel(the comparison)", compared);
  const CUresult recorded = engine_.driver().EventRecord(finished_.get(), stream);
  if (recorded != CUDA_SUCCESS) return GiveUp("cuEventRecord", recorded);
  state_.store(State::kInFlight, std::memory_order_release);
}

void FfnShadow::GiveUp(std::string_view call, CUresult result) {
  state_.store(State::kOff, std::memory_order_release);
  engine_.log().Write(LogLevel::kError, "shadow",
                      {{"event", "off"},
                       {"op", problem_.Name()},
                       {"reason", CudaStatus(engine_.driver(), result, call).message()}});
}

void FfnShadow::Collect() {
  State in_flight = State::kInFlight;
  if (!state_.compare_exchange_strong(in_flight, State::kTaken, std::memory_order_acq_rel)) return;
  if (__atomic_load_n(&report_->sequence, __ATOMIC_ACQUIRE) != sequence_) {
    return state_.store(State::kInFlight, std::memory_order_release);
  }
  EngineCounters& counters = engine_.counters();
  counters.shadow_launches.Add();
  if (report_->num_wrong > 0 || report_->num_wrong_sums > 0) {
    counters.shadow_wrong.Add();
    Tell(*report_);
  }
  state_.store(State::kIdle, std::memory_order_release);
}

void FfnShadow::Tell(const ReferenceReport& report) const {
  const int64_t hidden = problem_.hidden.value();
  const bool is_sum = report.num_wrong == 0;  // a wrong sum alone: y was made of the right one
  const int64_t element = is_sum ? report.first_wrong_sum : report.worst;
  const auto number = [](double value) { return absl::StrFormat("%.9g", value); };
  engine_.log().Write(LogLevel::kError, "shadow",
                      {{"event", "wrong"},
                       {"op", problem_.Name()},
                       {"plan", planned_->report.best.plan.Summary()},
                       {"digest", planned_->source.Digest().ToHex()},
                       {"tokens", tokens_},
                       {"output", is_sum ? "residual_out" : "y"},
                       {"token", element / hidden},
                       {"column", element % hidden},
                       {"got", is_sum ? "-" : number(report.got)},
                       {"expected", is_sum ? "-" : number(report.expected)},
                       {"error_over_bound", is_sum ? "-" : number(report.worst_ratio)},
                       {"wrong_elements", report.num_wrong},
                       {"wrong_sums", report.num_wrong_sums},
                       {"unjudged", report.num_unjudged}});
}

}  // namespace fusebox
