// mbarrier objects in shared memory (PTX ISA 9.7.13.15). Addresses are 32-bit shared-window
// addresses.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_MBARRIER_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_MBARRIER_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

__device__ __forceinline__ void MbarrierInit(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes inits visible to the cluster and to the async proxy (PTX ISA 9.7.13.4,
// fence.mbarrier_init).
__device__ __forceinline__ void FenceMbarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void MbarrierArrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void MbarrierArriveExpectTx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// One attempt: true when the phase with this parity has completed. Acquire at CTA scope.
__device__ __forceinline__ bool MbarrierTryWait(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, "
      "0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Arrival at a barrier of the cluster (address from MapToPeer). Release at cluster scope.
__device__ __forceinline__ void MbarrierArriveCluster(u32 peer_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer_barrier)
               : "memory");
}

// The same without order: for what the async proxy has read, whose end this warp has waited for.
// A release would first wait for all its generic accesses, at each slot.
__device__ __forceinline__ void MbarrierArriveRelaxed(u32 peer_barrier, u32 arrivals) {
  asm volatile(
      "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(peer_barrier),
      "r"(arrivals)
      : "memory");
}

// MbarrierTryWait with acquire at cluster scope.
__device__ __forceinline__ bool MbarrierTryWaitCluster(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_MBARRIER_CUH_
