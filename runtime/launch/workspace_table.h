// WorkspaceTable remembers which workspaces were initialised, and how large, so that a launch can
// refuse any other. Invariant: lookups take no lock and allocate nothing; an entry stays for the
// table's life (a freed workspace whose address comes back is the caller's to initialise again).
// Thread-safe.
#ifndef FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_
#define FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fusebox {

class WorkspaceTable {
 public:
  // One workspace for each stream or graph that may overlap another: far fewer than this in any
  // server.
  static constexpr size_t kCapacity = 4096;

  enum class RecordOutcome { kRecorded, kFull };
  RecordOutcome Record(const void* workspace, size_t bytes) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    for (size_t i = 0; i < kCapacity; ++i) {
      Slot& slot = slots_[(FirstSlot(address) + i) % kCapacity];
      uintptr_t expected = 0;
      if (slot.address.compare_exchange_strong(expected, address, std::memory_order_acq_rel) ||
          expected == address) {
        slot.bytes.store(bytes, std::memory_order_release);
        return RecordOutcome::kRecorded;
      }
    }
    return RecordOutcome::kFull;
  }

  // 0 for a workspace that was never recorded.
  size_t RecordedBytes(const void* workspace) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    for (size_t i = 0; i < kCapacity; ++i) {
      const Slot& slot = slots_[(FirstSlot(address) + i) % kCapacity];
      const uintptr_t found = slot.address.load(std::memory_order_acquire);
      if (found == address) return slot.bytes.load(std::memory_order_acquire);
      if (found == 0) return 0;
    }
    return 0;
  }

 private:
  struct Slot {
    std::atomic<uintptr_t> address = 0;
    std::atomic<size_t> bytes = 0;
  };
  // Workspaces are 256-byte aligned, so the low bits say nothing; the multiplier is 2^64 over the
  // golden ratio.
  static size_t FirstSlot(uintptr_t address) {
    return static_cast<size_t>(((address >> 8) * 0x9e3779b97f4a7c15u) >> 52);
  }
  static_assert(kCapacity == size_t{1} << 12, "FirstSlot yields 12 bits");

  std::array<Slot, kCapacity> slots_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_WORKSPACE_TABLE_H_
