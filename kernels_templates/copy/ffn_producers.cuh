// The two producer threads of the ffn kernel.
// Weights: one stream of both phases, in order, through one ring; it waits for free slots and for nothing else, so it
// starts before the previous kernel has finished (PDL contract: weights are immutable).
// Activations: x in a small ring of its own, after the previous kernel's writes are visible.
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

// Loads num_boxes boxes of phase 2 into the slot at `cursor`.
template <typename Plan, int kBoxes>
__device__ __forceinline__ void FillDownSlot(const FfnParams& params, const WeightRing<Plan>& ring,
                                             RingCursor<Plan::kRingSlots>& cursor, int column, int row, u64 policy) {
  using Smem = FfnSmem<Plan>;
  WaitBarrier<Plan>(SpinSite::kWeightEmpty, params.workspace, ring.Empty(cursor.index), cursor.parity ^ 1);
  Jitter<Plan>();
  const u32 full = ring.Full(cursor.index);
  ptx::MbarrierArriveExpectTx(full, kBoxes * Smem::kDownBoxBytes);
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
    ptx::TensorLoad2d(ring.Slot(cursor.index) + box * Smem::kDownBoxBytes, params.down, column + box * kBoxK, row, full,
                      policy);
  }
  cursor.Advance();
}

template <typename Plan>
__device__ __forceinline__ void ProduceWeights(const FfnParams& params, const WeightRing<Plan>& ring, int cluster,
                                               int rank) {
  using Smem = FfnSmem<Plan>;
  const u64 policy = ptx::PolicyEvictFirst();
  RingCursor<Plan::kRingSlots> cursor;

  const int up_row = cluster * Smem::kChunkRows + rank * Plan::kUpRowsPerCta;
  for (int k = 0; k < Plan::kHidden; k += Plan::kUpKPerSlot) {
    WaitBarrier<Plan>(SpinSite::kWeightEmpty, params.workspace, ring.Empty(cursor.index), cursor.parity ^ 1);
    Jitter<Plan>();
    const u32 full = ring.Full(cursor.index);
    ptx::MbarrierArriveExpectTx(full, Smem::kUpSlotBytes);
    u32 destination = ring.Slot(cursor.index);
#pragma unroll
    for (int box = 0; box < Plan::kUpKPerSlot / kBoxK; ++box) {
      if constexpr (Plan::kGated) {
        ptx::TensorLoad2d(destination, params.gate, k + box * kBoxK, up_row, full, policy);
        destination += Smem::kUpBoxBytes;
      }
      ptx::TensorLoad2d(destination, params.up, k + box * kBoxK, up_row, full, policy);
      destination += Smem::kUpBoxBytes;
    }
    cursor.Advance();
  }

  constexpr int kFullSlots = Smem::kChunkRows / Plan::kDownKPerSlot;
  constexpr int kLastBoxes = CeilDiv(Smem::kChunkRows - kFullSlots * Plan::kDownKPerSlot, kBoxK);
  const int column = cluster * Smem::kChunkRows;
  for (int pass = 0; pass < Plan::kDownPasses; ++pass) {
    const int row = rank * Smem::kSliceRows + pass * Plan::kDownRowsPerPass;
    for (int slot = 0; slot < kFullSlots; ++slot) {
      FillDownSlot<Plan, Plan::kDownKPerSlot / kBoxK>(params, ring, cursor, column + slot * Plan::kDownKPerSlot, row,
                                                      policy);
    }
    if constexpr (kLastBoxes > 0) {
      FillDownSlot<Plan, kLastBoxes>(params, ring, cursor, column + kFullSlots * Plan::kDownKPerSlot, row, policy);
    }
  }
}

template <typename Plan>
__device__ __forceinline__ void ProduceActivations(const FfnParams& params, const ActivationRing<Plan>& ring) {
  using Smem = FfnSmem<Plan>;
  const u64 policy = ptx::PolicyEvictLast();
  ptx::GridDependencyWait();  // x is the previous kernel's output
  RingCursor<Plan::kActivationSlots> cursor;
  for (int k = 0; k < Plan::kHidden; k += Plan::kUpKPerSlot) {
    WaitBarrier<Plan>(SpinSite::kActivationEmpty, params.workspace, ring.Empty(cursor.index), cursor.parity ^ 1);
    Jitter<Plan>();
    const u32 full = ring.Full(cursor.index);
    ptx::MbarrierArriveExpectTx(full, Smem::kActivationSlotBytes);
#pragma unroll
    for (int box = 0; box < Plan::kUpKPerSlot / kBoxK; ++box) {
      ptx::TensorLoad2d(ring.Slot(cursor.index) + box * Smem::kActivationBoxBytes, params.x, k + box * kBoxK, 0, full,
                        policy);
    }
    cursor.Advance();
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_COPY_FFN_PRODUCERS_CUH_
