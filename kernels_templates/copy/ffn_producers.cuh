// The two producer threads of the ffn kernel.
// Weights: one stream of both phases, in order, through one ring; it waits for free slots and for
// nothing else, so it starts before the previous kernel has finished (PDL contract: weights are
// immutable). Activations: x, then h of grid gather, in a small ring of their own, when they are
// there.
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

// The matrices of a phase: gate and up, or one alone.
template <typename Phase>
struct PhaseMaps {
  const TensorMap* maps[Phase::kMatrices];
};

// 64 k elements from `k` of the pass's rows from `row`.
template <typename Plan, typename Phase>
__device__ __forceinline__ void LoadBox(u32 destination, const TensorMap& map, int k, int row,
                                        u32 full, u64 policy) {
  if constexpr (Plan::kLayout == WeightLayout::kInOut) {
#pragma unroll
    for (int tile = 0; tile < Phase::kRowTiles; ++tile) {
      ptx::TensorLoad2d(destination + tile * kTileBytes, map, row + tile * kWgmmaRows, k, full,
                        policy);
    }
  } else {
    ptx::TensorLoad2d(destination, map, k, row, full, policy);
  }
}

// Fills one slot with kBoxes boxes of each matrix.
template <typename Plan, typename Phase, int kBoxes>
__device__ __forceinline__ void FillSlot(WeightStream<Plan>& stream, const PhaseMaps<Phase>& maps,
                                         int k, int row, u64 policy) {
  const u32 full = stream.Begin(kBoxes * Phase::kMatrices * Phase::kBoxBytes);
  u32 destination = stream.ring.Slot(stream.next.index);
#pragma unroll
  for (int box = 0; box < kBoxes; ++box) {
#pragma unroll
    for (int matrix = 0; matrix < Phase::kMatrices; ++matrix) {
      LoadBox<Plan, Phase>(destination, *maps.maps[matrix], k + box * kBoxK, row, full, policy);
      destination += Phase::kBoxBytes;
    }
  }
  stream.next.Advance();
}

// All passes of a phase over k elements first_k .. first_k + Phase::kK.
template <typename Plan, typename Phase>
__device__ __forceinline__ void ProducePhase(WeightStream<Plan>& stream,
                                             const PhaseMaps<Phase>& maps, int first_row,
                                             int first_k, u64 policy) {
  constexpr int kFullSlots = Phase::kK / Phase::kKPerSlot;
  constexpr int kLastBoxes = CeilDiv(Phase::kK % Phase::kKPerSlot, kBoxK);
  for (int pass = 0; pass < Phase::kPasses; ++pass) {
    const int row = first_row + pass * Phase::kRowsPerPass;
    const auto fill = [&](int slot) {
      FillSlot<Plan, Phase, Phase::kKPerSlot / kBoxK>(
          stream, maps, first_k + slot * Phase::kKPerSlot, row, policy);
    };
    if constexpr (Plan::kActivationMulticast) {
      // Producers have 40 registers then; with the loop unrolled kernels spilled up to 148 bytes.
#pragma unroll 1
      for (int slot = 0; slot < kFullSlots; ++slot) fill(slot);
    } else {
      for (int slot = 0; slot < kFullSlots; ++slot) fill(slot);
    }
    if constexpr (kLastBoxes > 0) {
      FillSlot<Plan, Phase, kLastBoxes>(stream, maps, first_k + kFullSlots * Phase::kKPerSlot, row,
                                        policy);
    }
  }
}

template <typename Plan>
__device__ __forceinline__ void ProduceWeights(const FfnParams& params,
                                               const WeightRing<Plan>& ring, int cluster,
                                               int rank) {
  using Up = UpPhase<Plan>;
  using Down = DownPhase<Plan>;
  const u64 policy = ptx::PolicyEvictFirst();
  WeightStream<Plan> stream{params, ring};
  const int cta = cluster * Plan::kClusterSize + rank;
  PhaseMaps<Up> up;
  up.maps[0] = Plan::kGated ? &params.gate : &params.up;
  if constexpr (Plan::kGated) up.maps[1] = &params.up;
  ProducePhase<Plan, Up>(stream, up, cta * Up::kRowsPerCta, 0, policy);
  const PhaseMaps<Down> down = {{&params.down}};
  if constexpr (Plan::kEdge == Edge::kGridGather) {
    ProducePhase<Plan, Down>(stream, down, cta / Down::kKCtas * Down::kRowsPerCta,
                             rank % Down::kKCtas * Down::kK, policy);
  } else {
    ProducePhase<Plan, Down>(stream, down, rank * Down::kRowsPerCta, cluster * Down::kK, policy);
  }
}

// The copies of one slot: 64 k elements of all tokens each. Where CTAs share the activation each
// copies an equal part of the tokens, to all of them at once.
template <typename Plan, typename Phase>
__device__ __forceinline__ void FillActivationSlot(u32 destination, const TensorMap& map, int k,
                                                   int row, u32 full, u32 rank) {
  constexpr int kBoxes = Phase::kKPerSlot / kBoxK;
  constexpr int kBoxBytes = FfnSmem<Plan>::kActivationBoxBytes;
  if constexpr (Phase::kMulticasts) {
    constexpr int kTokens = Plan::kTokenTile / Phase::kSharers;
    const u32 sharer = rank / Phase::kKCtas;
    // A bit for every kKCtas-th rank, from this one's part of k.
    constexpr u32 kSharerBits = ((1u << Plan::kClusterSize) - 1) / ((1u << Phase::kKCtas) - 1);
    const u32 peers = kSharerBits << (rank % Phase::kKCtas);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      ptx::TensorLoad2dMulticast(destination + box * kBoxBytes + sharer * kTokens * kBoxRowBytes,
                                 map, k + box * kBoxK, row + sharer * kTokens, full,
                                 static_cast<u16>(peers));
    }
  } else {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box)
      ptx::TensorLoad2d(destination + box * kBoxBytes, map, k + box * kBoxK, row, full);
  }
}

// All passes of a phase: the activation anew for each, rows from `row` of `map`, k elements from
// `first_k`.
template <typename Plan, typename Phase>
__device__ __forceinline__ void ProduceActivations(const FfnParams& params,
                                                   const ActivationRing<Plan>& ring,
                                                   RingCursor<Plan::kActivationSlots>& cursor,
                                                   const TensorMap& map, int row, int first_k,
                                                   u32 rank) {
  constexpr int kBoxes = Phase::kKPerSlot / kBoxK;
  for (int pass = 0; pass < Phase::kPasses; ++pass) {
    for (int k = 0; k < Phase::kK; k += Phase::kKPerSlot) {
      WaitBarrier<Plan>(SpinSite::kActivationEmpty, params.workspace, ring.Empty(cursor.index),
                        cursor.parity ^ 1);
      Jitter<Plan>();
      const u32 full = ring.Full(cursor.index);
      ptx::MbarrierArriveExpectTx(full, kBoxes * FfnSmem<Plan>::kActivationBoxBytes);
      FillActivationSlot<Plan, Phase>(ring.Slot(cursor.index), map, first_k + k, row, full, rank);
      cursor.Advance();
    }
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_COPY_FFN_PRODUCERS_CUH_
