// Waiting and jitter. Production kernels spin without bound; debug builds (Plan::kBoundedSpins)
// give up after a bound and name the barrier that did not come in the first word of the workspace;
// jitter builds (Plan::kJitterSeed != 0) sleep at random where roles meet, so that an order that
// merely happens to hold shows itself.
#ifndef FUSEBOX_KERNELS_TEMPLATES_BASE_DEBUG_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_BASE_DEBUG_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/ptx/mbarrier.cuh"

namespace fusebox {

// Who waits for what; the number is the report's low byte.
enum class SpinSite : u32 {
  kWeightFull = 1,       // consumers for a weight slot
  kWeightEmpty = 2,      // weight producer for a free slot
  kActivationFull = 3,   // consumers for an activation slot
  kActivationEmpty = 4,  // activation producer for a free slot
  kIntermediate = 5,     // consumers for the cluster's h
  kPartialsStored = 6,   // combiner warps for the consumers' partial sums
  kWeightLanded = 7,     // weight producer for an earlier slot to land
  kRows = 8,             // readers for the cluster's normalised rows
  kGridArrived = 9,      // activation producer for the grid's h
  kPeersHaveSpace = 10,  // consumers for the rings of CTAs that split k with theirs to be idle
  kSumsReceived = 11,    // consumers for their peers' sums
};

constexpr u64 kSpinBoundNs = 20'000'000;  // 20 ms: three orders above any kernel here

__device__ __forceinline__ u64 GlobalTimerNs() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Spins until `ready()`. In bounded builds returns after the bound, or as soon as any CTA has
// reported.
template <typename Plan, typename Ready>
__device__ __forceinline__ void SpinUntil(SpinSite site, u32* report, Ready ready) {
  if constexpr (!Plan::kBoundedSpins) {
    while (!ready()) {
    }
  } else {
    const u64 deadline = GlobalTimerNs() + kSpinBoundNs;
    while (!ready()) {
      if (*static_cast<volatile u32*>(report) != 0u) return;
      if (GlobalTimerNs() > deadline) {
        atomicCAS(report, 0u, (blockIdx.x << 8) | static_cast<u32>(site));
        return;
      }
    }
  }
}

template <typename Plan>
__device__ __forceinline__ void WaitBarrier(SpinSite site, u32* report, u32 barrier, u32 parity) {
  SpinUntil<Plan>(site, report, [&] { return ptx::MbarrierTryWait(barrier, parity); });
}

// Sleeps 0 to 2 us, from a hash of the seed, the warp and the clock.
template <typename Plan>
__device__ __forceinline__ void Jitter() {
  if constexpr (Plan::kJitterSeed != 0) {
    u32 hash = static_cast<u32>(clock64()) ^ (blockIdx.x * 0x9e3779b9u) ^
               ((threadIdx.x >> 5) * 0x85ebca6bu) ^
               (static_cast<u32>(Plan::kJitterSeed) * 0xc2b2ae35u);
    hash ^= hash >> 16;
    hash *= 0x7feb352du;
    hash ^= hash >> 15;
    if ((hash & 3) == 0) __nanosleep((hash >> 8) & 2047);
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_BASE_DEBUG_CUH_
