// Cluster identity, addresses and barrier (PTX ISA 10.12 to 10.19 special registers, 9.7.8.23
// mapa, 9.7.13.3 barrier).
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_CLUSTER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_CLUSTER_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

__device__ __forceinline__ u32 ClusterCtaRank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The same shared-memory address in the CTA of that rank.
__device__ __forceinline__ u32 MapToPeer(u32 address, u32 rank) {
  u32 mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// Every thread of the cluster arrives once and then waits once, in turn. Arrive releases, wait
// acquires, at cluster scope.
__device__ __forceinline__ void ClusterArrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
__device__ __forceinline__ void ClusterWait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_CLUSTER_CUH_
