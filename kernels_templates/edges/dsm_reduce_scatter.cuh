// Combine "dsm reduce_scatter": CTAs of a cluster that split k of phase 2, neighbours in rank, hold
// partial sums of the same outputs. Each finishes an equal part of the units; the others push their
// sums of these into its shared memory, and it adds all in the order of k, so that the result does
// not depend on who came first. A warp's units are the same in all of them: warps meet their likes
// and no other. One pass. The sums lie in the rings, idle once a CTA has multiplied all it has.
//
// Memory-model rule (stores to a peer's shared memory): __syncwarp, then one release at cluster
// scope on the peer's barrier; the owner's acquire at cluster scope. The same the other way for
// what the owner's tensor cores have read before.
//   space: one arrival of each consumer warp of each other CTA once its instructions are complete;
//   received[warp]: one arrival of that warp of each other CTA after its stores; both one phase a
//   launch.
//
// Lifetime: a CTA leaves after all stores to it have come, and all peers' arrivals.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_REDUCE_SCATTER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_REDUCE_SCATTER_CUH_

#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/epilogue/outputs.cuh"
#include "kernels_templates/ptx/cluster.cuh"

namespace fusebox {

template <typename Plan>
struct DsmReduceScatter {
  using Phase = DownPhase<Plan>;
  using Units = Outputs<Plan>;
  static constexpr u32 kParts = Phase::kKCtas;
  static constexpr u32 kUnitBytes = kWarpThreads * kFragmentBytes;
  static constexpr u32 kPartUnits = Units::kPassUnits / kParts;  // that one CTA finishes
  static_assert(kParts == 1 || (Phase::kPasses == 1 && Units::kPassStrips % kParts == 0),
                "k_ctas: one pass, and its strips of 16 rows dealt out evenly");

  Units outputs;
  u32 sums_of_peers;  // shared address of [kParts - 1][kPartUnits] units
  u32 space;          // shared addresses of the mbarriers: all peers have space, and
  u32 received;       // one for each warp with sums
  u32 rank;

  // One thread, before the cluster barrier.
  __device__ __forceinline__ void Init() const {
    ptx::MbarrierInit(space, (kParts - 1) * Plan::kConsumerWarpgroups * 4);
    for (u32 warp = 0; warp < Units::kWarps; ++warp)
      ptx::MbarrierInit(received + warp * 8, kParts - 1);
  }

  // Every consumer warp: arrives at a barrier of each other CTA.
  __device__ __forceinline__ void ArriveAtPeers(u32 barrier) const {
    __syncwarp();
    if (outputs.lane < kParts && outputs.lane != Part())
      ptx::MbarrierArriveCluster(ptx::MapToPeer(barrier, rank - Part() + outputs.lane));
  }
  // After its last instructions are complete.
  __device__ __forceinline__ void OfferSpace() const { ArriveAtPeers(space); }

  // Which part of k this CTA has, and so which units it finishes.
  __device__ __forceinline__ u32 Part() const { return rank % kParts; }
  // Blocks and strips in turn, so that few of either are shared evenly too.
  __device__ __forceinline__ static u32 Owner(u32 unit) {
    return (unit / Units::kPassStrips + unit % Units::kPassStrips) % kParts;
  }
  // Where the owner of `unit` keeps others' sums of it: slots in the order of k, without its own.
  __device__ __forceinline__ u32 Place(u32 unit, u32 slot) const {
    return sums_of_peers + (slot * kPartUnits + unit / kParts) * kUnitBytes +
           outputs.lane * kFragmentBytes;
  }

  // A warp's sums to the CTAs that finish them.
  __device__ __forceinline__ void Push(const DownSums<Plan>& sums, u32 warp) const {
    const u32 first = rank - Part();  // rank of part 0
    SpinUntil<Plan>(SpinSite::kPeersHaveSpace, outputs.params.workspace,
                    [&] { return ptx::MbarrierTryWaitCluster(space, 0); });
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
#pragma unroll
      for (int block = 0; block < Units::kBlocks; ++block) {
        const u32 unit = Units::Unit(tile, block, warp);
        if (!outputs.Exists(unit) || Owner(unit) == Part()) continue;
        const u32 slot = Part() < Owner(unit) ? Part() : Part() - 1;
        ptx::StoreSharedCluster(ptx::MapToPeer(Place(unit, slot), first + Owner(unit)),
                                sums.Fragment(tile, block));
      }
    }
    ArriveAtPeers(received + warp * 8);
  }

  // The same warp: adds its units' sums in the order of k and writes the outputs.
  __device__ __forceinline__ void FinishUnits(const DownSums<Plan>& sums, u32 warp) const {
    SpinUntil<Plan>(SpinSite::kSumsReceived, outputs.params.workspace,
                    [&] { return ptx::MbarrierTryWaitCluster(received + warp * 8, 0); });
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
#pragma unroll
      for (int block = 0; block < Units::kBlocks; ++block) {
        const u32 unit = Units::Unit(tile, block, warp);
        if (!outputs.Exists(unit) || Owner(unit) != Part()) continue;
        outputs.WriteUnit(0, unit, SumOfUnit(unit, sums.Fragment(tile, block)));
        outputs.FinishUnit(unit, Units::kSlices);
      }
    }
  }

 private:
  __device__ __forceinline__ static void Add(Float4& sum, const Float4& part) {
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }

  // Of a unit that this CTA finishes. Its own part comes in front of those that follow it in k: all
  // are loaded from one address and constants, for there are no registers for more.
  __device__ __forceinline__ Float4 SumOfUnit(u32 unit, const Float4& own) const {
    Float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (u32 slot = 0; slot < kParts; ++slot) {
      if (slot == Part()) Add(sum, own);
      if (slot + 1 < kParts) Add(sum, ptx::LoadShared(Place(unit, slot)));
    }
    return sum;
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EDGES_DSM_REDUCE_SCATTER_CUH_
