// What a workspace must be and hold before its first launch; the kernel leaves it so.
#ifndef FUSEBOX_RUNTIME_ENGINE_WORKSPACE_H_
#define FUSEBOX_RUNTIME_ENGINE_WORKSPACE_H_

#include <cstdint>

namespace fusebox {

constexpr int kWorkspaceAlignment =
    256;  // bytes: what cudaMalloc gives; the partial sums are read in 16-byte pieces

// Report and counters are zero between launches (kernels_templates/abi/kernel_params.h).
constexpr uint32_t kWorkspaceWord = 0;

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_WORKSPACE_H_
