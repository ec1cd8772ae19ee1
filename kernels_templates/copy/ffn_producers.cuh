// The two producer threads of the ffn kernel.
// Weights: one stream of both phases, in order, through one ring; it waits for free slots and for
// nothing else, so it starts before the previous kernel has finished (PDL contract: weights are
// immutable). Activations: x in a small ring of its own, after the previous kernel's writes are
// visible.
#ifndef FUSEBOX_KERNELS_TEMPLATES_COPY_FFN_PRODUCERS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_COPY_FFN_PRODUCERS_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/copy/ring.cuh"
#include "kernels_templates/ptx/bulk_copy.cuh"
#include "kernels_templates/ptx/grid_dependency.cuh"
#include "kernels_templates/tile/ffn_smem.cuh"

namespace fusebox {

template <typename Plan>
using WeightRing = Ring<Plan::kRingSlots, FfnSmem<Plan>::kSlotBytes>;
template <typename Plan>
using ActivationRing = Ring<Plan::kActivationSlots, FfnSmem<Plan>::kActivationSlotBytes>;

// The weight producer's place in the ring. At most kSlotsInFlight slots are issued and not yet
// landed: more bytes in flight than the memory system needs only queue up in it, unevenly over the
// CTAs, and slow every other access down.
template <typename Plan>
struct WeightStream {
  const FfnParams& params;
  const WeightRing<Plan>& ring;
  RingCursor<Plan::kRingSlots> next;     // the slot to fill
  RingCursor<Plan::kRingSlots> landing;  // the oldest in flight, once kSlotsInFlight are issued
  int issued = 0;

  // Waits for a free slot and announces the bytes to come; returns its full barrier.
  __device__ __forceinline__ u32 Begin(u32 bytes) {
    if constexpr (Plan::kSlotsInFlight < Plan::kRingSlots) {
      if (issued >= Plan::kSlotsInFlight) {
        WaitBarrier<Plan>(SpinSite::kWeightLanded, params.workspace, ring.Full(landing.index),
                          landing.parity);
        landing.Advance();
      } else {
        ++issued;
      }
    }
    WaitBarrier<Plan>(SpinSite::kWeightEmpty, params.workspace, ring.Empty(next.index),
                      next.parity ^ 1);
    Jitter<Plan>();
    const u32 full = ring.Full(next.index);
    ptx::MbarrierArriveExpectTx(full, bytes);
    return full;
  }
};

// Fills one slot with kBoxes boxes of phase 2.
template <typename Plan, int kBoxes>
__device__ __forceinline__ void FillDownSlot(WeightStream<Plan>& stream, int column, int row,
                                             u64 policy) {
  using Smem = FfnSmem<Plan>;
  const u32 full = stream.Begin(kBoxes * Smem::kDownBoxBytes);
  const u32 slot = stream.ring.Slot(stream.next.index);
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    ptx::TensorLoad2d(slot + box * Smem::kDownBoxBytes, stream.params.down, column + box * kBoxK,
                      row, full, policy);
  }
  stream.next.Advance();
}

template <typename Plan>
__device__ __forceinline__ void ProduceWeights(const FfnParams& params,
                                               const WeightRing<Plan>& ring, int cluster,
                                               int rank) {
  using Smem = FfnSmem<Plan>;
  const u64 policy = ptx::PolicyEvictFirst();
  WeightStream<Plan> stream{params, ring};

  const int up_row = cluster * Smem::kChunkRows + rank * Plan::kUpRowsPerCta;
  for (int k = 0; k < Plan::kHidden; k += Plan::kUpKPerSlot) {
    const u32 full = stream.Begin(Smem::kUpSlotBytes);
    u32 destination = ring.Slot(stream.next.index);
#pragma unroll
    for (int box = 0; box < Plan::kUpKPerSlot / kBoxK; ++box) {
      if constexpr (Plan::kGated) {
        ptx::TensorLoad2d(destination, params.gate, k + box * kBoxK, up_row, full, policy);
        destination += Smem::kUpBoxBytes;
      }
      ptx::TensorLoad2d(destination, params.up, k + box * kBoxK, up_row, full, policy);
      destination += Smem::kUpBoxBytes;
    }
    stream.next.Advance();
  }

  constexpr int kFullSlots = Smem::kChunkRows / Plan::kDownKPerSlot;
  constexpr int kLastBoxes = CeilDiv(Smem::kChunkRows - kFullSlots * Plan::kDownKPerSlot, kBoxK);
  const int column = cluster * Smem::kChunkRows;
  for (int pass = 0; pass < Plan::kDownPasses; ++pass) {
    const int row = rank * Smem::kSliceRows + pass * Plan::kDownRowsPerPass;
    for (int slot = 0; slot < kFullSlots; ++slot) {
      FillDownSlot<Plan, Plan::kDownKPerSlot / kBoxK>(stream, column + slot * Plan::kDownKPerSlot,
                                                      row, policy);
    }
    if constexpr (kLastBoxes > 0) {
      FillDownSlot<Plan, kLastBoxes>(stream, column + kFullSlots * Plan::kDownKPerSlot, row,
                                     policy);
    }
  }
}

template <typename Plan>
__device__ __forceinline__ void ProduceActivations(const FfnParams& params,
                                                   const ActivationRing<Plan>& ring, int row) {
  using Smem = FfnSmem<Plan>;
  RingCursor<Plan::kActivationSlots> cursor;
  for (int k = 0; k < Plan::kHidden; k += Plan::kUpKPerSlot) {
    WaitBarrier<Plan>(SpinSite::kActivationEmpty, params.workspace, ring.Empty(cursor.index),
                      cursor.parity ^ 1);
    Jitter<Plan>();
    const u32 full = ring.Full(cursor.index);
    ptx::MbarrierArriveExpectTx(full, Smem::kActivationSlotBytes);
#pragma unroll
    for (int box = 0; box < Plan::kUpKPerSlot / kBoxK; ++box) {
      ptx::TensorLoad2d(ring.Slot(cursor.index) + box * Smem::kActivationBoxBytes, params.x,
                        k + box * kBoxK, row, full);
    }
    cursor.Advance();
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_COPY_FFN_PRODUCERS_CUH_
