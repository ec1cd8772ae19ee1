// Plain bytes from global to shared memory by the copy engine.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_LOAD_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_LOAD_CUH_

#include "kernels_templates/base/types.cuh"

namespace fusebox::ptx {

// Completes `barrier` by its byte count (PTX ISA 9.7.9.25.4.1, cp.async.bulk). Sizes and addresses
// are multiples of 16.
__device__ __forceinline__ void BulkLoad(u32 destination, const void* source, u32 bytes,
                                         u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_BULK_LOAD_CUH_
