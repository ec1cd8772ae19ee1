// Combine "ordered partials": every cluster leaves its fp32 partial sums in L2, and arrives at a
// counter. Of the CTAs of one rank, one in each cluster, the one that arrives last at a unit of
// outputs adds all partial sums in cluster order, so that the result does not depend on who was
// last. Nobody waits for another cluster without bound: no co-residency is needed. To share the
// adding evenly, each unit has an owner, which puts its own arrival off until all others have
// arrived, or until its patience ends. All passes but the last are finished by two warps of their
// own while the consumers stream on.
//
// Memory-model rule (generic stores to global, read by other CTAs): the storing warps' mbarrier
// arrival (or __syncwarp), then an acquire-release add at GPU scope on the unit's counter; whoever
// draws the last ticket reads after __syncwarp. It sets the counter back to zero: the next launch's
// adds come after griddepcontrol.wait, hence after that.
//   stored[pass]: one arrival of each consumer warp after its stores; one phase a launch.
#ifndef FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_

#include "kernels_templates/base/debug.cuh"
#include "kernels_templates/epilogue/outputs.cuh"
#include "kernels_templates/ptx/global_memory.cuh"

namespace fusebox {

constexpr int kCombinerWarps = 2;

template <typename Plan>
struct OrderedPartials {
  using Phase = DownPhase<Plan>;
  using Units = Outputs<Plan>;
  using Workspace = FfnWorkspace<Plan>;
  static constexpr int kWarps = Units::kWarps;
  static constexpr int kPassUnits = Units::kPassUnits;
  static constexpr int kBatch = Min(Plan::kNumClusters, 16);  // loads in flight a lane
  static_assert(Plan::kClusterSize * Phase::kPasses * kPassUnits <=
                    Workspace::kCounterBytes / 4 - Workspace::kBlockCounters,
                "counters_fit: more units than counters");

  const FfnParams& params;
  Units outputs;
  u32 stored;  // shared address of the mbarriers, one for each pass but the last
  u32 cluster;
  u32 rank;
  u32 lane;

  // One thread, before the CTA's barriers are used.
  __device__ __forceinline__ void Init() const {
    for (u32 pass = 0; pass + 1 < Phase::kPasses; ++pass)
      ptx::MbarrierInit(stored + pass * 8, kWarps);
  }

  __device__ __forceinline__ u32* Counter(u32 pass, u32 unit) const {
    return params.workspace + Workspace::kCounters / 4 +
           (rank * Phase::kPasses + pass) * kPassUnits + unit;
  }
  __device__ __forceinline__ Float4* Partial(u32 of_cluster, u32 pass, u32 unit) const {
    auto* partials = reinterpret_cast<Float4*>(params.workspace + Workspace::kPartials / 4);
    const u32 cta = of_cluster * Plan::kClusterSize + rank;
    return partials + ((cta * Phase::kPasses + pass) * kPassUnits + unit) * kWarpThreads + lane;
  }
  // Consumer warps: leave the pass's sums, and say so (the last pass: finish the own units at
  // once).
  __device__ __forceinline__ void StorePass(const DownSums<Plan>& sums, u32 pass, u32 warp) const {
#pragma unroll
    for (int tile = 0; tile < Phase::kTiles; ++tile) {
#pragma unroll
      for (int block = 0; block < Units::kBlocks; ++block) {
        const u32 unit = Units::Unit(tile, block, warp);
        if (!outputs.Exists(unit) || outputs.Token(unit) >= params.tokens) continue;
        ptx::StoreThroughL2(Partial(cluster, pass, unit), sums.Fragment(tile, block));
      }
    }
    __syncwarp();
    if (pass + 1 == Phase::kPasses) {
      FinishUnits<Phase::kTiles * Units::kBlocks>(pass, warp, kWarps);
    } else if (lane == 0) {
      ptx::MbarrierArrive(stored + pass * 8);
    }
  }

  // Combiner warps 0 .. kCombinerWarps - 1: finish all passes but the last.
  __device__ __forceinline__ void FinishPasses(u32 combiner) const {
    for (u32 pass = 0; pass + 1 < Phase::kPasses; ++pass) {
      WaitBarrier<Plan>(SpinSite::kPartialsStored, params.workspace, stored + pass * 8, 0);
      FinishUnits<kPassUnits / kCombinerWarps>(pass, combiner, kCombinerWarps);
    }
  }

  // This warp's units of a pass are first, first + step, ...: a lane arrives for each, 32 at a
  // time.
  template <int kCount>
  __device__ __forceinline__ void FinishUnits(u32 pass, u32 first, u32 step) const {
    Jitter<Plan>();
    for (u32 done = 0; done < kCount; done += kWarpThreads) {
      const u32 unit = first + (done + lane) * step;
      const bool draws = done + lane < kCount && outputs.Exists(unit);
      u32 last = __ballot_sync(0xffffffffu, draws && Arrive(pass, unit));
      while (last != 0) {
        const u32 finished = first + (done + __ffs(last) - 1) * step;
        SumUnit(pass, finished);
        outputs.FinishUnit(finished, Plan::kClusterSize);
        last &= last - 1;
      }
    }
  }

  // True when this CTA's arrival was the last: it must finish the unit, and has set the counter
  // back.
  __device__ __forceinline__ bool Arrive(u32 pass, u32 unit) const {
    u32* counter = Counter(pass, unit);
    // The owner comes last if it can.
    if (Plan::kCombinePatienceCycles > 0 && unit % Plan::kNumClusters == cluster) {
      const i64 patience_ends = clock64() + Plan::kCombinePatienceCycles;
      while (ptx::LoadRelaxed(counter) != Plan::kNumClusters - 1 && clock64() < patience_ends) {
      }
    }
    const bool last = ptx::AddAcquireRelease(counter, 1) == Plan::kNumClusters - 1;
    if (last) *counter = 0;
    return last;
  }

  // Adds the unit's partial sums in cluster order and writes the outputs.
  __device__ __forceinline__ void SumUnit(u32 pass, u32 unit) const {
    if (outputs.Token(unit) >= params.tokens) return;
    Float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 from = 0; from < Plan::kNumClusters; from += kBatch) {
      Float4 parts[kBatch];
#pragma unroll
      for (u32 i = 0; i < kBatch; ++i) {
        if (from + i < Plan::kNumClusters)
          parts[i] = ptx::LoadThroughL2(Partial(from + i, pass, unit));
      }
#pragma unroll
      for (u32 i = 0; i < kBatch; ++i) {
        if (from + i >= Plan::kNumClusters) continue;
        sum.x += parts[i].x;
        sum.y += parts[i].y;
        sum.z += parts[i].z;
        sum.w += parts[i].w;
      }
    }
    outputs.WriteUnit(pass, unit, sum);
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_EDGES_ORDERED_PARTIALS_CUH_
