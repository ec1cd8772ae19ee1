// FfnOp is an ffn with fixed dimensions on an engine: the plans and sources of each token tile's
// ladder, and the kernels as they become ready. Invariant: plans never change after Create; a
// kernel, once ready, stays, and with it the rung in force; so does the refusal of a tile of which
// no rung fits the GPU. Thread-safe; what a launch reads (Ready, Unfit) takes no lock.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_OP_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_OP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/ffn_desc.h"
#include "runtime/engine/ffn_shadow.h"
#include "runtime/engine/planner.h"
#include "runtime/launch/loaded_kernel.h"

namespace fusebox {

constexpr size_t kNumTokenTiles = kTokenTiles.size();

enum class PrepareMode { kBlock, kBackground };

// A kernel on the GPU and the rung of its tile's ladder that it was made from.
struct ReadyKernel {
  std::shared_ptr<const LoadedKernel> kernel;
  size_t rung = 0;
};

class FfnOp : public std::enable_shared_from_this<FfnOp> {
 public:
  // Declined when no tile is served, or FUSEBOX_ENABLE leaves ffn out.
  static absl::StatusOr<std::shared_ptr<FfnOp>> Create(std::shared_ptr<Engine> engine,
                                                       const FfnSpec& spec);

  ~FfnOp();  // records what launches found missing and nobody has noticed yet
  FfnOp(const FfnOp&) = delete;
  FfnOp& operator=(const FfnOp&) = delete;

  // Every count is tried; the first failure is returned. Unavailable (NOT_READY) on a frozen
  // engine; Declined where no rung of the ladder fits this GPU.
  absl::Status Prepare(absl::Span<const int32_t> tokens, PrepareMode mode);
  // Records, and prepares where the engine does that, what launches found missing; called by an
  // idle background thread.
  void NoticeWanted();

  absl::StatusOr<bool> IsReady(int64_t tokens) const;
  absl::StatusOr<int64_t> WorkspaceBytes(int64_t max_tokens) const;  // 0: max_tokens of the op
  absl::StatusOr<std::string> PlanJson(int64_t tokens) const;
  // Fills the workspace on the stream and remembers it.
  absl::Status InitWorkspace(void* workspace, size_t bytes, CUstream stream) const;

  // The op's shadow, made at the first call; null without FUSEBOX_SHADOW, or where it cannot be
  // made, which is logged.
  FfnShadow* Shadow() ABSL_LOCKS_EXCLUDED(shadow_mutex_);
  void CollectShadow() {
    if (FfnShadow* shadow = made_shadow_.load(std::memory_order_acquire)) shadow->Collect();
  }

  // The launch path. `tile_index` counts kTokenTiles.
  const ReadyKernel* Ready(size_t tile_index) const {
    return tiles_[tile_index].ready.load(std::memory_order_acquire);
  }
  const LoadedKernel* Kernel(size_t tile_index) const {
    const ReadyKernel* const ready = Ready(tile_index);
    return ready == nullptr ? nullptr : ready->kernel.get();
  }
  // Why no rung of the tile fits this GPU; null before that is known, and where one does.
  const absl::Status* Unfit(size_t tile_index) const {
    return tiles_[tile_index].unfit.load(std::memory_order_acquire);
  }
  void Want(size_t tile_index) const {
    tiles_[tile_index].wanted.store(true, std::memory_order_relaxed);
  }
  bool IsServed(size_t tile_index) const { return !tiles_[tile_index].rungs.empty(); }
  // REQUIRES: IsServed, and a rung of the ladder.
  const PlannedKernel& Planned(size_t tile_index, size_t rung = 0) const {
    return tiles_[tile_index].rungs[rung];
  }
  size_t NumRungs(size_t tile_index) const { return tiles_[tile_index].rungs.size(); }
  // Why a tile is not served; OK where it is.
  const absl::Status& Refusal(size_t tile_index) const { return tiles_[tile_index].refusal; }

  const FfnSpec& spec() const { return spec_; }
  Engine& engine() const { return *engine_; }

 private:
  struct Tile {
    std::vector<PlannedKernel> rungs;  // the ladder; empty: not served
    absl::Status refusal;
    std::atomic<const ReadyKernel*> ready = nullptr;   // `ready_kernel`, once it is there
    std::atomic<const absl::Status*> unfit = nullptr;  // `gpu_refusal`, once it is there
    std::atomic<bool> compiled = false;                // without a GPU: in a cache
    mutable std::atomic<bool> wanted = false;          // a launch found it missing
    std::atomic<bool> queued = false;                  // for the background
    std::atomic<bool> failed = false;  // in the background: not tried again by itself
    // Each written once, under the engine's publish lock.
    ReadyKernel ready_kernel;
    absl::Status gpu_refusal;
  };

  FfnOp(std::shared_ptr<Engine> engine, const FfnSpec& spec);
  absl::Status PlanTile(size_t tile_index);
  absl::StatusOr<size_t> TileIndex(int64_t tokens) const;  // of a count within the op's limit
  absl::StatusOr<size_t> ServedTileIndex(int64_t tokens) const;
  void RecordTile(size_t tile_index) const;
  absl::Status PlanTiles();
  int64_t TileWorkspaceBytes(size_t tile_index) const;  // the largest of its rungs'
  absl::Status PrepareTile(size_t tile_index);
  absl::StatusOr<ReadyKernel> ClimbDown(const Tile& tile) const;
  absl::Status MakeUnfit(Tile& tile, const absl::Status& refusal) const;
  void PrepareTileInBackground(size_t tile_index);
  void PrepareQueued(size_t tile_index);  // on a background thread
  bool IsTileReady(const Tile& tile) const;

  const std::shared_ptr<Engine> engine_;
  const FfnSpec spec_;
  std::array<Tile, kNumTokenTiles> tiles_;

  absl::Mutex shadow_mutex_;
  bool shadow_tried_ ABSL_GUARDED_BY(shadow_mutex_) = false;
  std::unique_ptr<FfnShadow> shadow_ ABSL_GUARDED_BY(shadow_mutex_);  // stays once it is made
  std::atomic<FfnShadow*> made_shadow_ = nullptr;                     // without the lock
};

// Index of the tile for a token count in 0..kMaxTokens.
constexpr size_t TileIndexFor(int64_t tokens) {
  size_t index = 0;
  while (index + 1 < kNumTokenTiles && tokens > kTokenTiles[index]) ++index;
  return index;
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_OP_H_
