#include "runtime/engine/ffn_op.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/driver/cuda_status.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/workspace.h"
#include "src/base/status.h"

namespace fusebox {

FfnOp::FfnOp(std::shared_ptr<Engine> engine, const FfnSpec& spec)
    : engine_(std::move(engine)), spec_(spec) {}

FfnOp::~FfnOp() {
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    if (tiles_[i].wanted.load(std::memory_order_relaxed) && IsServed(i)) RecordTile(i);
  }
}

absl::StatusOr<std::shared_ptr<FfnOp>> FfnOp::Create(std::shared_ptr<Engine> engine,
                                                     const FfnSpec& spec) {
  if (!engine->config().ffn_enabled) {
    return Declined("enabled", "FUSEBOX_ENABLE leaves ffn out; set it to 1, or run your own path");
  }
  std::shared_ptr<FfnOp> op(new FfnOp(std::move(engine), spec));
  FUSEBOX_RETURN_IF_ERROR(op->PlanTiles());
  op->engine_->NoteUnforced(spec.problem);
  op->engine_->Adopt(op);
  if (op->engine_->NoticesWanted()) op->engine_->pool().Start();
  return op;
}

absl::Status FfnOp::PlanTiles() {
  const size_t last_index = TileIndexFor(spec_.max_tokens);
  bool serves_any = false;
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    Tile& tile = tiles_[i];
    if (i > last_index) {
      tile.refusal = Declined(
          "token_limit", absl::StrCat("the op was made for at most ", spec_.max_tokens, " tokens"));
      continue;
    }
    FUSEBOX_RETURN_IF_ERROR(PlanTile(i));
    serves_any = serves_any || IsServed(i);
  }
  return serves_any ? absl::OkStatus() : tiles_[0].refusal;
}

// A decline is the tile's refusal; any other failure is the op's.
absl::Status FfnOp::PlanTile(size_t tile_index) {
  Tile& tile = tiles_[tile_index];
  absl::StatusOr<std::vector<PlannedKernel>> ladder =
      PlanLadder(spec_.problem, kTokenTiles[tile_index], engine_->spec(), engine_->overrides());
  tile.refusal = ladder.status();
  if (!ladder.ok()) {
    if (!IsDeclined(ladder.status())) return ladder.status();
    engine_->log().Write(LogLevel::kDebug, "plan",
                         {{"event", "declined"}, {"reason", ladder.status().message()}});
    return absl::OkStatus();
  }
  const PlannedKernel& first = ladder->front();
  const SearchReport& report = first.report;
  engine_->log().Write(report.chosen_by == ChosenBy::kForced ? LogLevel::kWarn : LogLevel::kDebug,
                       "plan",
                       {{"kernel", first.source.name},
                        {"plan", report.best.plan.Summary()},
                        {"chosen_by", ToString(report.chosen_by)},
                        {"us", report.best.cost.us()},
                        {"floor_us", report.best.cost.floor_us},
                        {"rungs", static_cast<int64_t>(ladder->size())}});
  tile.rungs = *std::move(ladder);
  return absl::OkStatus();
}

absl::StatusOr<size_t> FfnOp::TileIndex(int64_t tokens) const {
  if (tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens is ", tokens, "; a token count is 0 to ", spec_.max_tokens));
  }
  if (tokens > spec_.max_tokens) {
    return Declined("token_limit",
                    absl::StrCat(tokens, " tokens are more than the op's max_tokens, ",
                                 spec_.max_tokens, "; run your own path for larger batches"));
  }
  return TileIndexFor(tokens);
}

absl::StatusOr<size_t> FfnOp::ServedTileIndex(int64_t tokens) const {
  FUSEBOX_ASSIGN_OR_RETURN(const size_t index, TileIndex(tokens));
  FUSEBOX_RETURN_IF_ERROR(tiles_[index].refusal);
  return index;
}

bool FfnOp::IsTileReady(const Tile& tile) const {
  return engine_->has_device() ? tile.ready.load(std::memory_order_acquire) != nullptr
                               : tile.compiled.load(std::memory_order_acquire);
}

absl::Status FfnOp::Prepare(absl::Span<const int32_t> tokens, PrepareMode mode) {
  absl::Status first_failure;
  std::array<bool, kNumTokenTiles> tried = {};
  for (const int32_t count : tokens) {
    const absl::StatusOr<size_t> index = ServedTileIndex(count);
    first_failure.Update(index.status());
    if (!index.ok() || std::exchange(tried[*index], true)) continue;
    RecordTile(*index);
    if (IsTileReady(tiles_[*index])) continue;
    if (const absl::Status* const unfit = Unfit(*index); unfit != nullptr) {
      first_failure.Update(*unfit);
    } else if (engine_->frozen()) {
      first_failure.Update(absl::UnavailableError(
          absl::StrCat("the kernel for ", count,
                       " tokens is not there, and the engine is frozen; prepare before "
                       "fusebox_engine_freeze, or run your own path")));
    } else if (mode == PrepareMode::kBackground) {
      PrepareTileInBackground(*index);
    } else {
      first_failure.Update(PrepareTile(*index));
    }
  }
  return first_failure;
}

absl::Status FfnOp::PrepareTile(size_t tile_index) {
  Tile& tile = tiles_[tile_index];
  const std::string& name = tile.rungs.front().source.name;
  absl::StatusOr<ReadyKernel> ready = ClimbDown(tile);
  if (!ready.ok()) {
    engine_->counters().kernels_failed.Add();
    engine_->log().Write(absl::IsUnavailable(ready.status()) ? LogLevel::kInfo : LogLevel::kError,
                         "prepare", {{"kernel", name}, {"reason", ready.status().message()}});
    return IsDeclined(ready.status()) ? MakeUnfit(tile, ready.status()) : ready.status();
  }
  const bool published = engine_->PublishUnlessFrozen([&] {
    if (IsTileReady(tile)) return;
    tile.ready_kernel = *std::move(ready);
    tile.compiled.store(true, std::memory_order_release);
    if (engine_->has_device()) tile.ready.store(&tile.ready_kernel, std::memory_order_release);
    engine_->counters().kernels_ready.Add();
  });
  if (published || IsTileReady(tile)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the engine was frozen while ", name,
                   " was being prepared; prepare before fusebox_engine_freeze"));
}

// The first rung that fits this GPU; Declined when none does, and any other failure as it is: what
// a rung lacks, a compiler or memory, says nothing about the GPU. Without a GPU nothing can fit or
// not, and all rungs are made for the one that will come.
absl::StatusOr<ReadyKernel> FfnOp::ClimbDown(const Tile& tile) const {
  absl::Status refusal;
  for (size_t i = 0; i < tile.rungs.size(); ++i) {
    const PlannedKernel& rung = tile.rungs[i];
    absl::StatusOr<std::shared_ptr<const LoadedKernel>> loaded =
        engine_->GetLoaded(rung.source, rung.residency);
    if (loaded.ok() && engine_->has_device()) {
      return ReadyKernel{.kernel = *std::move(loaded), .rung = i};
    }
    refusal = loaded.status();
    if (!loaded.ok() && !IsDeclined(refusal)) return refusal;
    if (loaded.ok() || i + 1 == tile.rungs.size()) continue;
    engine_->log().Write(LogLevel::kWarn, "load",
                         {{"event", "next_rung"},
                          {"kernel", rung.source.name},
                          {"plan", rung.report.best.plan.Summary()},
                          {"next", tile.rungs[i + 1].report.best.plan.Summary()},
                          {"reason", refusal.message()}});
  }
  if (refusal.ok()) return ReadyKernel{};
  if (tile.rungs.size() == 1) return refusal;
  return Declined(
      "co_resident",
      absl::StrCat("none of the ", tile.rungs.size(), " plans of ", tile.rungs.front().source.name,
                   " fits this GPU; the least of them: ", refusal.message()));
}

// Launches answer with the refusal from now on, and prepares too: a GPU does not grow.
absl::Status FfnOp::MakeUnfit(Tile& tile, const absl::Status& refusal) const {
  engine_->PublishUnlessFrozen([&] {
    if (tile.unfit.load(std::memory_order_relaxed) != nullptr) return;
    tile.gpu_refusal = refusal;
    tile.unfit.store(&tile.gpu_refusal, std::memory_order_release);
  });
  return refusal;
}

void FfnOp::PrepareTileInBackground(size_t tile_index) {
  std::atomic<bool>& queued = tiles_[tile_index].queued;
  if (queued.exchange(true)) return;
  absl::Cleanup unqueue = [&queued] { queued.store(false); };  // when there is no memory for it
  engine_->pool().Enqueue([op = shared_from_this(), tile_index] { op->PrepareQueued(tile_index); });
  std::move(unqueue).Cancel();
}

void FfnOp::PrepareQueued(size_t tile_index) {
  Tile& tile = tiles_[tile_index];
  const absl::Cleanup unqueue = [&tile] { tile.queued.store(false); };
  // Until it is known better: an exception may end this too, as when a failure is logged.
  tile.failed.store(true, std::memory_order_relaxed);
  if (PrepareTile(tile_index).ok()) tile.failed.store(false, std::memory_order_relaxed);
}

void FfnOp::NoticeWanted() {
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    Tile& tile = tiles_[i];
    if (!tile.wanted.exchange(false, std::memory_order_relaxed) || !IsServed(i)) continue;
    RecordTile(i);
    if (!engine_->PreparesWanted() || IsTileReady(tile) ||
        tile.failed.load(std::memory_order_relaxed)) {
      continue;
    }
    PrepareTileInBackground(i);
  }
}

FfnShadow* FfnOp::Shadow() {
  if (engine_->config().shadow_period == 0) return nullptr;
  absl::MutexLock lock(&shadow_mutex_);  // held while the oracle is compiled: others need it too
  if (std::exchange(shadow_tried_, true)) return shadow_.get();
  absl::StatusOr<std::unique_ptr<FfnShadow>> made =
      CatchExceptions([&] { return FfnShadow::Make(*engine_, spec_); });
  if (made.ok()) {
    shadow_ = *std::move(made);
    made_shadow_.store(shadow_.get(), std::memory_order_release);
  } else {
    engine_->log().Write(LogLevel::kError, "shadow",
                         {{"event", "off"},
                          {"op", spec_.problem.Name()},
                          {"reason", made.status().message()},
                          {"effect", "no launch of this op is compared"}});
  }
  return shadow_.get();
}

void FfnOp::RecordTile(size_t tile_index) const {
  engine_->recorder().Record(spec_.problem, kTokenTiles[tile_index]);
}

absl::StatusOr<bool> FfnOp::IsReady(int64_t tokens) const {
  if (tokens == 0) return true;  // needs no kernel
  const absl::StatusOr<size_t> index = ServedTileIndex(tokens);
  if (IsDeclined(index.status())) return false;
  FUSEBOX_RETURN_IF_ERROR(index.status());
  return IsTileReady(tiles_[*index]);
}

absl::StatusOr<int64_t> FfnOp::WorkspaceBytes(int64_t max_tokens) const {
  if (max_tokens == 0) max_tokens = spec_.max_tokens;
  FUSEBOX_ASSIGN_OR_RETURN(const size_t last_index, TileIndex(max_tokens));
  bool serves_any = false;
  int64_t bytes = 0;
  for (size_t i = 0; i <= last_index; ++i) {
    serves_any = serves_any || IsServed(i);
    bytes = std::max(bytes, TileWorkspaceBytes(i));
  }
  if (!serves_any) return tiles_[last_index].refusal;
  return bytes;
}

int64_t FfnOp::TileWorkspaceBytes(size_t tile_index) const {
  int64_t bytes = 0;
  for (const PlannedKernel& rung : tiles_[tile_index].rungs) {
    bytes = std::max(bytes, rung.source.workspace_bytes);
  }
  return bytes;
}

absl::StatusOr<std::string> FfnOp::PlanJson(int64_t tokens) const {
  FUSEBOX_ASSIGN_OR_RETURN(const size_t index, ServedTileIndex(tokens));
  const ReadyKernel* const ready = Ready(index);
  return LadderJson(tiles_[index].rungs,
                    ready == nullptr ? std::nullopt : std::optional(ready->rung));
}

absl::Status FfnOp::InitWorkspace(void* workspace, size_t bytes, CUstream stream) const {
  FUSEBOX_RETURN_IF_ERROR(engine_->RequireDevice("a workspace"));
  int64_t least_bytes = 0;
  for (size_t i = 0; i < kNumTokenTiles && least_bytes == 0; ++i) {
    least_bytes = TileWorkspaceBytes(i);
  }
  if (workspace == nullptr) return absl::InvalidArgumentError("workspace is NULL");
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("workspace %p is not aligned to %d bytes; cudaMalloc's memory is",
                        workspace, kWorkspaceAlignment));
  }
  if (bytes < static_cast<size_t>(least_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("workspace of ", bytes,
                                                   " bytes is too small; the op needs at least ",
                                                   least_bytes, ": ask fusebox_op_workspace_size"));
  }
  FUSEBOX_ASSIGN_OR_RETURN(const ScopedContext scoped, ScopedContext::Enter(engine_->context()));
  const DriverApi& driver = engine_->driver();
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(driver,
                 driver.MemsetD32Async(reinterpret_cast<CUdeviceptr>(workspace), kWorkspaceWord,
                                       bytes / sizeof(uint32_t), stream),
                 "cuMemsetD32Async"));
  engine_->workspaces().Record(workspace, bytes);
  return absl::OkStatus();
}

}  // namespace fusebox
