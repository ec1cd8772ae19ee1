// One pass of a matrix phase, as one consumer warpgroup runs it: weights or tokens are wgmma's M
// operand (tiles of 64 rows), the others its N. One slot's instructions stay in flight while the
// next slot's are issued; a slot is freed when its group has finished.
//   Streamed: the activation comes through a ring beside the weights (x; h of grid gather).
//   Chunk: the activation lies in shared memory as a whole (h of dsm gather).
#ifndef FUSEBOX_KERNELS_TEMPLATES_MMA_PHASE_PASS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_MMA_PHASE_PASS_CUH_

#include "kernels_templates/copy/ffn_producers.cuh"
#include "kernels_templates/ptx/cluster.cuh"
#include "kernels_templates/ptx/wgmma.cuh"

namespace fusebox {

// Consumer's place in a ring: the slot to read next, and the one before it, still being read by the
// tensor cores.
template <typename RingType, int kSlots>
struct RingReader {
  RingType ring;
  RingCursor<kSlots> cursor;

  template <typename Plan>
  __device__ __forceinline__ u32 WaitFull(SpinSite site, u32* report) {
    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);
    return ring.Slot(cursor.index);
  }
  // Lane 0 of each consumer warp frees a slot.
  __device__ __forceinline__ void Release(u32 index) const {
    if (threadIdx.x % kWarpThreads == 0) ptx::MbarrierArrive(ring.Empty(index));
  }
  __device__ __forceinline__ u32 Previous() const {
    return cursor.index == 0 ? kSlots - 1 : cursor.index - 1;
  }
};

template <typename Plan>
using WeightReader = RingReader<WeightRing<Plan>, Plan::kRingSlots>;

// Where a phase's activations are multicast, a slot is free to be filled when all that share it
// have freed theirs: each warp arrives at every one's barrier.
template <typename Plan>
struct ActivationReader : RingReader<ActivationRing<Plan>, Plan::kActivationSlots> {
  u32 rank;  // in the cluster

  __device__ __forceinline__ explicit ActivationReader(const ActivationRing<Plan>& of, u32 cta_rank)
      : RingReader<ActivationRing<Plan>, Plan::kActivationSlots>{of, {}}, rank(cta_rank) {}

  template <typename Phase>
  __device__ __forceinline__ void ReleaseOf(u32 index) const {
    if constexpr (Plan::kActivationMulticast) {
      const u32 lane = threadIdx.x % kWarpThreads;
      if (lane < Phase::kSharers) {
        const u32 peer = lane * Phase::kKCtas + rank % Phase::kKCtas;
        ptx::MbarrierArriveRelaxed(ptx::MapToPeer(this->ring.Empty(index), peer), Phase::kKCtas);
      }
    } else {
      this->Release(index);
    }
  }
};

// Of one warpgroup: [tile][matrix: gate, up, or one alone][fragment].
template <typename Phase>
struct Accumulators {
  float values[Phase::kTiles][Phase::kMatrices][4 * Phase::kBlocks];

  // A thread's part of a 64 x 8 block.
  __device__ __forceinline__ Float4 Fragment(int tile, int block) const {
    const float* v = &values[tile][0][4 * block];
    return {v[0], v[1], v[2], v[3]};
  }
};

// Which tiles of rows and which k16 steps of a slot a warpgroup has: row tiles row_group,
// row_group + kRowWarpgroups, ...; every kKWarpgroups-th step.
struct WarpgroupShare {
  u32 row_group;
  u32 k_group;

  template <typename Phase>
  __device__ __forceinline__ static WarpgroupShare Of(u32 warpgroup) {
    return {warpgroup % Phase::kRowWarpgroups, warpgroup / Phase::kRowWarpgroups};
  }
};

// A warpgroup dealt a tile past the last repeats the last one and its result is dropped: a branch
// around wgmma would make ptxas serialise the whole pipeline (C7520).
__device__ __forceinline__ u32 RealTile(u32 tile, u32 num_tiles) {
  return tile < num_tiles ? tile : num_tiles - 1;
}

// Descriptor of the 64 rows x 16 k elements of a tile: `step` counts k16 steps in a box.
template <typename Plan>
__device__ __forceinline__ u64 DescribeWeights(u32 box, u32 tile, u32 step) {
  if constexpr (Plan::kLayout == WeightLayout::kInOut) {
    return ptx::DescribeSwizzled128(box + tile * kTileBytes + step * (kWgmmaK * kBoxRowBytes));
  }
  return ptx::DescribeSwizzled128(box + tile * kTileBytes + step * (kWgmmaK * 2));
}

// Weights in rows: all tiles' and matrices' instructions of one k16 step, `step` of the slot at
// `weight_slot` with the activation operand `b`.
template <typename Plan, typename Phase>
__device__ __forceinline__ void IssueStep(Accumulators<Phase>& sums, u32 weight_slot, u32 step,
                                          u64 b, u32 row_group, bool accumulate) {
  constexpr u32 kStepsPerBox = kBoxK / kWgmmaK;
  constexpr auto kMajor =
      Plan::kLayout == WeightLayout::kInOut ? ptx::AMajor::kRows : ptx::AMajor::kK;
  const u32 box = weight_slot + step / kStepsPerBox * (Phase::kMatrices * Phase::kBoxBytes);
#pragma unroll
  for (int tile = 0; tile < Phase::kTiles; ++tile) {
    const u32 tile_index = RealTile(row_group + tile * Phase::kRowWarpgroups, Phase::kRowTiles);
#pragma unroll
    for (int matrix = 0; matrix < Phase::kMatrices; ++matrix) {
      const u64 a =
          DescribeWeights<Plan>(box + matrix * Phase::kBoxBytes, tile_index, step % kStepsPerBox);
      ptx::Wgmma<Plan::kDType, Plan::kTokenTile, kMajor>(sums.values[tile][matrix], a, b,
                                                         accumulate);
    }
  }
}

// Tokens in rows: the same; `activation_box` is the 64 k elements of all tokens that hold the step.
// Gate and up lie one after the other, one operand if it has no more than 256 lines.
template <typename Plan, typename Phase>
__device__ __forceinline__ void IssueTokenStep(Accumulators<Phase>& sums, u32 weight_slot,
                                               u32 activation_box, u32 step, u32 row_group,
                                               bool accumulate) {
  constexpr u32 kStepsPerBox = kBoxK / kWgmmaK;
  constexpr int kJoined = Phase::kMatrices * Phase::kRowsPerPass <= 256 ? Phase::kMatrices : 1;
  constexpr int kColumns = kJoined * Phase::kRowsPerPass;
  const u32 in_box = step % kStepsPerBox * (kWgmmaK * 2);  // bytes along k in a line
  const u32 box = weight_slot + step / kStepsPerBox * (Phase::kMatrices * Phase::kBoxBytes);
#pragma unroll
  for (int tile = 0; tile < Phase::kTiles; ++tile) {
    const u32 tile_index = row_group + tile * Phase::kRowWarpgroups;
    const u64 a = ptx::DescribeSwizzled128(activation_box + tile_index * kTileBytes + in_box);
#pragma unroll
    for (int matrix = 0; matrix < Phase::kMatrices; matrix += kJoined) {
      const u64 b = ptx::DescribeSwizzled128(box + matrix * Phase::kBoxBytes + in_box);
      auto& columns = reinterpret_cast<float(&)[kColumns / 2]>(sums.values[tile][matrix]);
      ptx::Wgmma<Plan::kDType, kColumns, ptx::AMajor::kK>(columns, a, b, accumulate);
    }
  }
}

template <typename Plan, typename Phase>
__device__ __forceinline__ void RunStreamedPass(Accumulators<Phase>& sums,
                                                WeightReader<Plan>& weights,
                                                ActivationReader<Plan>& activations,
                                                WarpgroupShare share, u32* report) {
  using Smem = FfnSmem<Plan>;
  constexpr int kSlots = Phase::kK / Phase::kKPerSlot;
  constexpr int kSteps = Phase::kKPerSlot / kWgmmaK / Phase::kKWarpgroups;
  for (int slot = 0; slot < kSlots; ++slot) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    const u32 activation_slot =
        activations.template WaitFull<Plan>(SpinSite::kActivationFull, report);
    Jitter<Plan>();
    ptx::WgmmaFence();
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const u32 step = share.k_group + i * Phase::kKWarpgroups;
      const u32 box = step / (kBoxK / kWgmmaK);
      const u32 activation_box = activation_slot + box * Smem::kActivationBoxBytes;
      if constexpr (Phase::kTokensAreRows) {
        IssueTokenStep<Plan, Phase>(sums, weight_slot, activation_box, step, share.row_group,
                                    slot + i != 0);
      } else {
        const u32 in_box = step % (kBoxK / kWgmmaK) * (kWgmmaK * 2);  // bytes along k in a row
        const u64 b = ptx::DescribeSwizzled128(activation_box + in_box);
        IssueStep<Plan, Phase>(sums, weight_slot, step, b, share.row_group, slot + i != 0);
      }
    }
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (slot > 0) {
      weights.Release(weights.Previous());
      activations.template ReleaseOf<Phase>(activations.Previous());
    }
    weights.cursor.Advance();
    activations.cursor.Advance();
  }
  ptx::WgmmaWait<0>();
  weights.Release(weights.Previous());
  activations.template ReleaseOf<Phase>(activations.Previous());
}

// One slot of a chunk pass: kSteps k16 steps from column `column` of the chunk.
template <typename Plan, int kSteps>
__device__ __forceinline__ void IssueChunkSlot(Accumulators<DownPhase<Plan>>& sums, u32 weight_slot,
                                               u32 chunk, int column, u32 row_group) {
  using Smem = FfnSmem<Plan>;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const u64 b = ptx::DescribeCoreMatrices(chunk + (column / 8 + step * 2) * Smem::kGranuleBytes,
                                            Smem::kGranuleBytes);
    IssueStep<Plan, DownPhase<Plan>>(sums, weight_slot, step, b, row_group, column + step != 0);
  }
}

template <typename Plan>
__device__ __forceinline__ void RunChunkPass(Accumulators<DownPhase<Plan>>& sums,
                                             WeightReader<Plan>& weights, u32 chunk, u32 row_group,
                                             u32* report) {
  using Phase = DownPhase<Plan>;
  constexpr int kFullSlots = Phase::kK / Phase::kKPerSlot;
  constexpr int kLastSteps = Phase::kK % Phase::kKPerSlot / kWgmmaK;
  for (int slot = 0; slot < kFullSlots; ++slot) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    Jitter<Plan>();
    ptx::WgmmaFence();
    IssueChunkSlot<Plan, Phase::kKPerSlot / kWgmmaK>(sums, weight_slot, chunk,
                                                     slot * Phase::kKPerSlot, row_group);
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (slot > 0) weights.Release(weights.Previous());
    weights.cursor.Advance();
  }
  if constexpr (kLastSteps > 0) {
    const u32 weight_slot = weights.template WaitFull<Plan>(SpinSite::kWeightFull, report);
    ptx::WgmmaFence();
    IssueChunkSlot<Plan, kLastSteps>(sums, weight_slot, chunk, kFullSlots * Phase::kKPerSlot,
                                     row_group);
    ptx::WgmmaCommit();
    ptx::WgmmaWait<1>();
    if (kFullSlots > 0) weights.Release(weights.Previous());
    weights.cursor.Advance();
  }
  ptx::WgmmaWait<0>();
  weights.Release(weights.Previous());
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_MMA_PHASE_PASS_CUH_
