// A ring of shared-memory slots between one producer thread and the consumer warpgroups; where
// activations are multicast, the producer threads of all CTAs that share them fill a slot together.
//   full[slot]:  1 arrival (the producer's expect_tx) plus the bytes of its copies; a phase a fill.
//   empty[slot]: one arrival of each consumer warp (lane 0), with multicast of those of every CTA
//   that is copied to; a phase a drain. The first fill waits for nothing.
// A warp arrives itself because wgmma's wait_group speaks for the executing warp only.
#ifndef FUSEBOX_KERNELS_TEMPLATES_COPY_RING_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_COPY_RING_CUH_

#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/base/types.cuh"
#include "kernels_templates/ptx/mbarrier.cuh"

namespace fusebox {

template <int kSlots, int kSlotBytes>
struct Ring {
  u32 slots;     // shared address of slot 0
  u32 barriers;  // shared address of full[kSlots], then empty[kSlots]

  __device__ __forceinline__ u32 Slot(u32 index) const { return slots + index * kSlotBytes; }
  __device__ __forceinline__ u32 Full(u32 index) const { return barriers + index * 8; }
  __device__ __forceinline__ u32 Empty(u32 index) const { return barriers + (kSlots + index) * 8; }

  __device__ __forceinline__ void Init(u32 releases) const {
    for (u32 index = 0; index < kSlots; ++index) {
      ptx::MbarrierInit(Full(index), 1);
      ptx::MbarrierInit(Empty(index), releases);
    }
  }
};

// A position in a ring: which slot, and the parity of its current round.
template <int kSlots>
struct RingCursor {
  u32 index = 0;
  u32 parity = 0;

  __device__ __forceinline__ void Advance() {
    if (++index == kSlots) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_COPY_RING_CUH_
