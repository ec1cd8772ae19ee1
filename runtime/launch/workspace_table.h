// WorkspaceTable remembers which workspaces were initialised, and how large, so that a launch can
// refuse any other. Invariant: lookups take no lock and allocate nothing; of more workspaces than
// it holds the one recorded longest ago is forgotten (a freed workspace whose address comes back is
// the caller's to initialise again). Thread-safe.
#ifndef FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_
#define FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fusebox {

class WorkspaceTable {
 public:
  // One workspace for each stream or graph that may overlap another: far fewer than this in any
  // server. 384 KiB an engine.
  static constexpr size_t kCapacity = size_t{1} << 14;

  void Record(const void* workspace, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    absl::MutexLock lock(&mutex_);
    Slot* chosen = nullptr;
    for (size_t i = 0; i < kReach; ++i) {
      Slot& slot = slots_[(FirstSlot(address) + i) % kCapacity];
      if (slot.address.load(std::memory_order_relaxed) == address) {
        chosen = &slot;
        break;
      }
      if (chosen == nullptr || slot.turn < chosen->turn) chosen = &slot;
    }
    // 0 first: who finds the address must not find another workspace's size.
    chosen->bytes.store(0, std::memory_order_release);
    chosen->address.store(address, std::memory_order_release);
    chosen->bytes.store(bytes, std::memory_order_release);
    chosen->turn = ++turn_;
  }

  // 0 for a workspace that was never recorded.
  size_t RecordedBytes(const void* workspace) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    for (size_t i = 0; i < kReach; ++i) {
      const Slot& slot = slots_[(FirstSlot(address) + i) % kCapacity];
      if (slot.address.load(std::memory_order_acquire) != address) continue;
      const size_t bytes = slot.bytes.load(std::memory_order_acquire);
      // Another's size, if another took the slot between the two.
      return slot.address.load(std::memory_order_acquire) == address ? bytes : 0;
    }
    return 0;
  }

 private:
  // Slots that an address may lie in. A miss reads all of them; only a launch that is refused
  // misses. Too many for a table that is not nearly full to forget anything.
  static constexpr size_t kReach = 64;

  struct Slot {
    std::atomic<uintptr_t> address = 0;
    std::atomic<size_t> bytes = 0;
    uint64_t turn = 0;  // of the record, under mutex_; 0: free
  };
  // Workspaces are 256-byte aligned, so the low bits say nothing; the multiplier is 2^64 over the
  // golden ratio.
  static size_t FirstSlot(uintptr_t address) {
    return static_cast<size_t>(((address >> 8) * 0x9e3779b97f4a7c15u) >> 50);
  }
  static_assert(kCapacity == size_t{1} << 14, "FirstSlot yields 14 bits");

  std::array<Slot, kCapacity> slots_;
  absl::Mutex mutex_;  // among records
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_
