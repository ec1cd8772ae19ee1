#include "runtime/tools/warm_run.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/start_threads.h"
#include "src/base/status.h"
#include "src/plan/cost_model.h"
#include "src/plan/legality.h"
#include "src/source/emit.h"

namespace fusebox {
namespace {

WarmOutcome OutcomeOf(const absl::Status& status) {
  if (IsDeclined(status)) return WarmOutcome::kDeclined;
  return absl::IsFailedPrecondition(status) ? WarmOutcome::kMissing : WarmOutcome::kFailed;
}

// Two rungs of a ladder, or two ops, may have one kernel.
WarmOutcome OutcomeOf(KernelOrigin origin) {
  return origin == KernelOrigin::kCompiled ? WarmOutcome::kCompiled : WarmOutcome::kCached;
}

}  // namespace

std::string_view ToString(WarmOutcome outcome) {
  switch (outcome) {
    case WarmOutcome::kCompiled:
      return "compiled";
    case WarmOutcome::kCached:
      return "cached";
    case WarmOutcome::kDeclined:
      return "declined";
    case WarmOutcome::kFailed:
      return "failed";
    case WarmOutcome::kMissing:
      return "missing";
  }
  return "failed";
}

WarmRow WarmRun::MakeReady(const WarmPiece& piece) {
  WarmRow row = {.piece = piece};
  const absl::Status status = CatchExceptions([&] { return Fill(piece, row); });
  if (!status.ok()) {
    row.outcome = OutcomeOf(status);
    row.sentence = std::string(status.message());
  }
  return row;
}

absl::StatusOr<std::vector<PlannedKernel>> WarmRun::KernelsOf(const WarmPiece& piece) const {
  if (!piece.plan.has_value()) {
    return PlanLadder(piece.op->problem, piece.op->token_tile, gpu_, overrides_);
  }
  const FusionPlan& plan = *piece.plan;
  FUSEBOX_RETURN_IF_ERROR(CheckLegal(plan, gpu_));
  FUSEBOX_ASSIGN_OR_RETURN(KernelSource source, Emit(plan, overrides_.templates));
  PlannedKernel kernel = {.report = {.best = {.plan = plan, .cost = EstimateCost(plan, gpu_)},
                                     .chosen_by = ChosenBy::kForced},
                          .source = std::move(source)};
  std::vector<PlannedKernel> kernels;
  kernels.push_back(std::move(kernel));
  return kernels;
}

absl::Status WarmRun::Fill(const WarmPiece& piece, WarmRow& row) {
  FUSEBOX_RETURN_IF_ERROR(piece.op.status());
  FUSEBOX_ASSIGN_OR_RETURN(const std::vector<PlannedKernel> ladder, KernelsOf(piece));
  const PlannedKernel& first = ladder.front();
  row.plan = first.report.best.plan.Summary();
  row.predicted_us = first.report.best.cost.us();
  row.floor_us = first.report.best.cost.floor_us;
  row.digest = first.source.Digest().ToHex();
  row.smem_bytes = first.source.launch.dynamic_smem_bytes;

  FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel served, MakeKept(first.source));
  row.resources = served.kernel->resources;
  const WarmOutcome outcome = OutcomeOf(served.origin);
  if (outcome == WarmOutcome::kCompiled) row.compile_ms = served.kernel->milliseconds;
  for (size_t i = 1; i < ladder.size(); ++i) {
    FUSEBOX_ASSIGN_OR_RETURN(const ServedKernel lower, MakeKept(ladder[i].source));
    const WarmOutcome lower_outcome = OutcomeOf(lower.origin);
    row.lower_rungs.push_back(
        {.plan = ladder[i].report.best.plan.Summary(),
         .digest = ladder[i].source.Digest().ToHex(),
         .outcome = lower_outcome,
         .compile_ms = lower_outcome == WarmOutcome::kCompiled ? lower.kernel->milliseconds : 0});
  }
  row.outcome = outcome;
  return absl::OkStatus();
}

absl::StatusOr<ServedKernel> WarmRun::MakeKept(const KernelSource& source) {
  const absl::Status obstacle = Obstacle();
  absl::StatusOr<ServedKernel> served = kernels_->GetOrCompile(
      source, obstacle.ok() ? CompilePermission::kAllowed : CompilePermission::kCachesOnly);
  if (!obstacle.ok() && absl::IsUnavailable(served.status())) return obstacle;
  if (served.ok() && served->origin == KernelOrigin::kCompiled) {
    FUSEBOX_RETURN_IF_ERROR(CheckKept(source, *served->kernel));
  }
  return served;
}

absl::Status WarmRun::CheckKept(const KernelSource& source, const CompiledKernel& kernel) {
  if (kernels_->store().num_write_failures() == 0) return absl::OkStatus();
  // The service goes on without the disk, so the reason comes from a second attempt.
  const absl::Status stored = kernels_->store().Store(source, kernel);
  if (stored.ok()) return stored;
  const absl::Status obstacle = absl::InternalError(
      absl::StrCat("the kernel cannot be kept: ", stored.message(),
                   "; give a writable folder with --cache-dir or FUSEBOX_CACHE_DIR"));
  absl::MutexLock lock(&mutex_);
  obstacle_ = obstacle;
  return obstacle;
}

absl::Status WarmRun::Obstacle() const {
  absl::MutexLock lock(&mutex_);
  return obstacle_;
}

std::vector<WarmRow> WarmRun::MakeAllReady(const std::vector<WarmPiece>& pieces, int jobs,
                                           Progress& progress) {
  std::vector<WarmRow> rows(pieces.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t index = next++; index < pieces.size(); index = next++) {
      rows[index] = MakeReady(pieces[index]);
      const WarmRow& row = rows[index];
      const std::string label =
          row.piece.op.ok() ? absl::StrCat(row.piece.name, " tile ", row.piece.op->token_tile)
                            : row.piece.name;
      progress.Finished(label, ToString(row.outcome));
    }
  };
  const size_t num_threads = std::min(static_cast<size_t>(std::max(jobs, 1)), pieces.size());
  // This thread works too, so that fewer threads than asked for, or none, are slower and no more.
  std::vector<std::thread> threads = StartThreads(std::max(static_cast<int>(num_threads) - 1, 0),
                                                  [&](int) { return std::thread(work); });
  work();
  for (std::thread& thread : threads) thread.join();
  return rows;
}

}  // namespace fusebox
