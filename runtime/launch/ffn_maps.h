// The tensor maps of an ffn launch, as kernels_templates/abi/kernel_params.h asks for: of the
// weights, once at binding; of the activations, at every launch. Allocates nothing and needs no
// context. Thread-safe.
#ifndef FUSEBOX_RUNTIME_LAUNCH_FFN_MAPS_H_
#define FUSEBOX_RUNTIME_LAUNCH_FFN_MAPS_H_

#include "kernels_templates/abi/kernel_params.h"
#include "runtime/launch/tensor_map.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// As the op's layout has them: rows are outputs (out_in) or inputs (in_out).
struct FfnWeightViews {
  MatrixView gate;  // a plain op: any valid matrix, never read
  MatrixView up;
  MatrixView down;
};

CUresult EncodeWeightMaps(const DriverApi& api, const FusionPlan& plan,
                          const FfnWeightViews& weights, FfnParams* params);

// Of x, or of the rows that the kernel leaves normalised in the workspace, and of h where it goes
// through the workspace.
CUresult EncodeActivationMaps(const DriverApi& api, const FusionPlan& plan, const MatrixView& x,
                              const void* workspace, FfnParams* params);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_LAUNCH_FFN_MAPS_H_
