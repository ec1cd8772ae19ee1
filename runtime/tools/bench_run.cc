#include "runtime/tools/bench_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/tools/forced_kernel.h"
#include "runtime/tools/verify_run.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int64_t kStreamBytes = int64_t{4} << 30;
constexpr int64_t kStreamReads = 4;              // in one graph, so that its launch does not count
constexpr int64_t kRotationBytes = 600'000'000;  // ten times an H200's L2
constexpr int64_t kMinCopies = 4;
constexpr int64_t kMaxCopies = 64;    // below 10 MB of weights a part may stay in L2
constexpr int64_t kMinLaunches = 64;  // of a graph, so that its own launch is below 0.1 us each

}  // namespace

std::string_view ToString(Neighbours neighbours) {
  return neighbours == Neighbours::kFusebox ? "fusebox" : "foreign";
}

struct BenchRun::Layers {
  FfnProblem problem;
  std::vector<FfnLayer> copies;
};

absl::StatusOr<double> BenchRun::MeasureReadBandwidth() {
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceBuffer stream,
                           DeviceBuffer::Make(*session_, "read stream", kStreamBytes));
  FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(
      {.data = stream.as<void>(), .rows = kStreamBytes / 8192, .columns = 4096, .row_stride = 4096},
      1.0f, 1));
  FUSEBOX_ASSIGN_OR_RETURN(
      const Timing timing,
      TimeGraph(*session_, kStreamReads, options_.replays, [&](int64_t, CUstream on) {
        return kernels_->ReadStream(stream.address(), kStreamBytes, on);
      }));
  read_gb_per_s_ = static_cast<double>(kStreamBytes) / (timing.median * 1e3);
  return read_gb_per_s_;
}

absl::StatusOr<const BenchRun::Layers*> BenchRun::LayersOf(const FfnProblem& problem) {
  if (layers_ != nullptr && layers_->problem == problem) return layers_.get();
  layers_.reset();
  const int64_t copies =
      std::clamp(CeilDiv(kRotationBytes, problem.weight_bytes()), kMinCopies, kMaxCopies);
  Layers made = {.problem = problem};
  for (int64_t i = 0; i < copies; ++i) {
    FUSEBOX_ASSIGN_OR_RETURN(
        FfnLayer layer, FfnLayer::Make(*session_, *kernels_, problem, static_cast<uint32_t>(i)));
    made.copies.push_back(std::move(layer));
  }
  layers_ = std::make_shared<const Layers>(std::move(made));
  return layers_.get();
}

absl::StatusOr<LaunchBuffers> BenchRun::MakeBuffers(const FfnProblem& problem,
                                                    size_t workspace_bytes, int64_t tokens) const {
  FUSEBOX_ASSIGN_OR_RETURN(LaunchBuffers buffers,
                           LaunchBuffers::Make(*session_, problem, workspace_bytes));
  for (const TokenMatrix* matrix : {&buffers.x(), &buffers.residual()}) {
    FUSEBOX_RETURN_IF_ERROR(kernels_->FillUniform(matrix->View(tokens), kActivationLimit, 99));
  }
  FUSEBOX_RETURN_IF_ERROR(buffers.InitWorkspaceByHand());
  return buffers;
}

void BenchRun::TimeNeighbours(const FfnProblem& problem, const LaunchBuffers& buffers,
                              int64_t num_copies, EnqueueLaunch enqueue, BenchRow row,
                              std::vector<BenchRow>& rows) const {
  const int64_t launches = num_copies * CeilDiv(kMinLaunches, num_copies);
  const int64_t x_elements = row.tokens * problem.hidden.value();
  const auto foreign = [&](int64_t, CUstream stream) {
    return kernels_->Scale(problem.dtype, buffers.x().buffer().address(), x_elements, stream);
  };
  row.compulsory_bytes = problem.compulsory_bytes(row.tokens);
  row.floor_us = static_cast<double>(row.compulsory_bytes) / (read_gb_per_s_ * 1e3);
  const auto time = [&](Neighbours neighbours) -> absl::StatusOr<Timing> {
    if (neighbours == Neighbours::kFusebox) {
      return TimeGraph(*session_, launches, row.replays, enqueue);
    }
    FUSEBOX_ASSIGN_OR_RETURN(const Timing alone,
                             TimeGraph(*session_, launches, row.replays, foreign));
    FUSEBOX_ASSIGN_OR_RETURN(Timing pair,
                             TimeGraph(*session_, launches, row.replays,
                                       [&](int64_t index, CUstream stream) -> absl::Status {
                                         FUSEBOX_RETURN_IF_ERROR(foreign(index, stream));
                                         return enqueue(index, stream);
                                       }));
    for (double* value : {&pair.median, &pair.p10, &pair.p90}) *value -= alone.median;
    return pair;
  };
  for (const Neighbours neighbours : options_.neighbours) {
    row.neighbours = ToString(neighbours);
    const absl::StatusOr<Timing> timing = time(neighbours);
    row.failure = timing.ok() ? "" : std::string(timing.status().message());
    if (timing.ok()) row.timing = *timing;
    rows.push_back(row);
  }
}

std::vector<BenchRow> BenchRun::TimeOp(const api::Engine& engine, const OpToRun& to_run) {
  std::vector<BenchRow> rows;
  BenchRow row = {.op = to_run.name, .model = to_run.model, .replays = options_.replays};
  const auto run = [&]() -> absl::Status {
    FUSEBOX_RETURN_IF_ERROR(to_run.problem.status());
    const FfnProblem& problem = *to_run.problem;
    row.dtype = std::string(ToString(problem.dtype));
    row.variant = VariantName(problem);
    api::Op op;
    FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(engine, DescOf(problem)).code()));
    const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
    FUSEBOX_RETURN_IF_ERROR(
        ApiStatus(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BLOCK).code()));
    FUSEBOX_ASSIGN_OR_RETURN(const Layers* const layers, LayersOf(problem));
    std::vector<api::Binding> bindings(layers->copies.size());
    for (size_t i = 0; i < bindings.size(); ++i) {
      FUSEBOX_RETURN_IF_ERROR(
          ApiStatus(bindings[i].BindFfn(op, layers->copies[i].weights()).code()));
    }
    for (const int32_t tokens : counts) {
      size_t bytes = 0;
      FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.WorkspaceSize(tokens, &bytes).code()));
      FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers buffers, MakeBuffers(problem, bytes, tokens));
      FUSEBOX_RETURN_IF_ERROR(ApiStatus(
          op.InitWorkspace(buffers.workspace().as<void>(), bytes, session_->stream()).code()));
      FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
      const fusebox_ffn_args args = buffers.Args(tokens, problem.residual_mode);
      row.tokens = tokens;
      const PlanGlance glance = GlanceAtPlan(op, tokens);
      row.plan = glance.summary;
      row.predicted_us = glance.predicted_us;
      TimeNeighbours(
          problem, buffers, static_cast<int64_t>(bindings.size()),
          [&](int64_t index, CUstream stream) {
            const auto copy = static_cast<size_t>(index) % bindings.size();
            return ApiStatus(bindings[copy].LaunchFfn(args, stream).code());
          },
          row, rows);
    }
    return absl::OkStatus();
  };
  const absl::Status status = run();
  if (!status.ok()) {
    (IsDeclined(status) ? row.refusal : row.failure) = std::string(status.message());
    rows.push_back(row);
  }
  return rows;
}

std::vector<BenchRow> BenchRun::TimePlan(const FusionPlan& plan, int64_t tokens, int replays) {
  std::vector<BenchRow> rows;
  const FfnProblem& problem = plan.problem;
  BenchRow row = {.op = problem.Name(),
                  .tokens = tokens == 0 ? plan.token_tile : tokens,
                  .dtype = std::string(ToString(problem.dtype)),
                  .variant = VariantName(problem),
                  .plan = plan.Summary(),
                  .plan_json = plan.ToJson(),
                  .replays = replays};
  const auto run = [&]() -> absl::Status {
    FUSEBOX_ASSIGN_OR_RETURN(const ForcedKernel kernel, ForcedKernel::Make(*session_, plan));
    FUSEBOX_ASSIGN_OR_RETURN(const Layers* const layers, LayersOf(problem));
    FUSEBOX_ASSIGN_OR_RETURN(const LaunchBuffers buffers,
                             MakeBuffers(problem, kernel.workspace_bytes(), row.tokens));
    std::vector<FfnParams> params;
    for (const FfnLayer& layer : layers->copies) {
      FfnOperandViews views = layer.views();
      views.x = buffers.x().View(row.tokens);
      views.residual = buffers.residual().View(row.tokens);
      FUSEBOX_ASSIGN_OR_RETURN(const FfnParams made, kernel.Params(views, buffers));
      params.push_back(made);
    }
    TimeNeighbours(
        problem, buffers, static_cast<int64_t>(params.size()),
        [&](int64_t index, CUstream stream) {
          return kernel.Launch(params[static_cast<size_t>(index) % params.size()],
                               ProgrammaticOverlap::kAllowed, stream);
        },
        row, rows);
    return absl::OkStatus();
  };
  const absl::Status status = run();
  if (!status.ok()) {
    row.failure = std::string(status.message());
    rows.push_back(row);
  }
  return rows;
}

}  // namespace fusebox
