// Asynchronous bulk copies: tensor tiles from global memory, and plain bytes to a peer of the
// cluster.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_COPY_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_COPY_CUH_

#include "kernels_templates/abi/kernel_params.h"
#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

// Hint for data read once: leaves L2 before anything else (PTX ISA 9.7.9.18, createpolicy).
__device__ __forceinline__ u64 PolicyEvictFirst() {
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Box of a 2-D tensor to shared memory; completes `barrier` by its full byte count, out-of-bounds
// zeros included (PTX ISA 9.7.9.27.1.2, cp.async.bulk.tensor). `column` and `row` in elements.
__device__ __forceinline__ void TensorLoad2d(u32 destination, const TensorMap& map, int column,
                                             int row, u32 barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "l"(policy)
      : "memory");
}

// The same without a hint.
__device__ __forceinline__ void TensorLoad2d(u32 destination, const TensorMap& map, int column,
                                             int row, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(destination),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

// The same to this address of every CTA of the cluster whose rank's bit is set in `peers`,
// completing each one's barrier at the address of `barrier` (PTX ISA 9.7.9.27.1.2,
// .multicast::cluster).
__device__ __forceinline__ void TensorLoad2dMulticast(u32 destination, const TensorMap& map,
                                                      int column, int row, u32 barrier, u16 peers) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(peers)
      : "memory");
}

// Own shared memory to a peer's (addresses from MapToPeer); completes the peer's barrier
// (PTX ISA 9.7.9.25.4.1, cp.async.bulk). Sizes and addresses are multiples of 16 bytes.
__device__ __forceinline__ void BulkCopyToPeer(u32 peer_destination, u32 source, u32 bytes,
                                               u32 peer_barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(peer_destination),
      "r"(source), "r"(bytes), "r"(peer_barrier)
      : "memory");
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_COPY_CUH_
