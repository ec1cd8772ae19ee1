// Moves registers between warpgroups of a CTA (PTX ISA 9.7.19.5, setmaxnreg). All warps of a
// warpgroup execute the same one; the count is a multiple of 8.
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_REGISTERS_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_REGISTERS_CUH_

namespace fusebox::ptx {

template <int kRegisters>
__device__ __forceinline__ void ReleaseRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Waits until enough have been released.
template <int kRegisters>
__device__ __forceinline__ void RequestRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_REGISTERS_CUH_
