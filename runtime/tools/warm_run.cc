#include "runtime/tools/warm_run.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/planner.h"
#include "runtime/engine/start_threads.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

WarmOutcome OutcomeOf(const absl::Status& status) {
  if (IsDeclined(status)) return WarmOutcome::kDeclined;
  return absl::IsFailedPrecondition(status) ? WarmOutcome::kMissing : WarmOutcome::kFailed;
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

absl::Status WarmRun::Fill(const WarmPiece& piece, WarmRow& row) {
  FUSEBOX_RETURN_IF_ERROR(piece.op.status());
  FUSEBOX_ASSIGN_OR_RETURN(const PlannedKernel planned,
                           PlanAndEmit(piece.op->problem, piece.op->token_tile, gpu_, overrides_));
  row.plan = planned.report.best.plan.Summary();
  row.predicted_us = planned.report.best.cost.us();
  row.floor_us = planned.report.best.cost.floor_us;
  row.digest = planned.source.Digest().ToHex();
  row.smem_bytes = planned.source.launch.dynamic_smem_bytes;

  const absl::Status obstacle = Obstacle();
  const absl::StatusOr<ServedKernel> served = kernels_->GetOrCompile(
      planned.source, obstacle.ok() ? CompilePermission::kAllowed : CompilePermission::kCachesOnly);
  if (!obstacle.ok() && absl::IsUnavailable(served.status())) return obstacle;
  FUSEBOX_RETURN_IF_ERROR(served.status());
  row.resources = served->kernel->resources;
  row.outcome = WarmOutcome::kCached;
  if (served->origin == KernelOrigin::kDisk) return absl::OkStatus();
  row.outcome = WarmOutcome::kCompiled;
  row.compile_ms = served->kernel->milliseconds;
  return CheckKept(planned.source, *served->kernel);
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
