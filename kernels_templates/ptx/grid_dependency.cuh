// Programmatic dependent launch (PTX ISA 9.7.13.13, griddepcontrol).
#ifndef FUSEBOX_KERNELS_TEMPLATES_PTX_GRID_DEPENDENCY_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_PTX_GRID_DEPENDENCY_CUH_

namespace fusebox::ptx {

// The next kernel may start once every CTA has said so (it still waits for our memory by
// GridDependencyWait).
__device__ __forceinline__ void LaunchDependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns when all kernels before this one have completed and their writes are visible.
__device__ __forceinline__ void GridDependencyWait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

}  // namespace fusebox::ptx

#endif  // FUSEBOX_KERNELS_TEMPLATES_PTX_GRID_DEPENDENCY_CUH_
