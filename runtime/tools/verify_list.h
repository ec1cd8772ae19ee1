// What a verify runs: the ops of models, each problem once whatever number of models has it, and
// the kernels that they need made ready on several threads at once. Values; WarmForVerify blocks.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_LIST_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusebox/fusebox.hpp"
#include "runtime/engine/kernel_service.h"
#include "runtime/engine/overrides.h"
#include "runtime/tools/op_options.h"
#include "src/device/device_spec.h"

namespace fusebox {

struct OpToVerify {
  OpToRun op;
  std::vector<std::string> models;  // that have this problem, in the order given
};

// Every token count at which a kernel's work changes, as far as a token tile goes.
std::vector<int64_t> TokensToVerify();

// "*.json" in the folder, by name. NotFound where there is none.
absl::StatusOr<std::vector<std::string>> ModelFilesIn(const std::string& folder);

// Equal problems become one with all their models and token counts; so do equal refusals.
std::vector<OpToVerify> EachOnce(const std::vector<OpToRun>& ops);

// An op with its kernels, through the API; without one for Rounding::kFused, which runs past it.
struct WarmedOp {
  api::Op op;
  absl::Status status;
};

struct VerifyKernels {
  const api::Engine* engine;
  KernelService* service;  // of the oracle's kernels, and those that run past the API
  CompilePermission permission;
  DeviceSpec gpu;
  const PlanOverrides* overrides;  // of the plans past the API
};

// In the order of `ops`, on up to `jobs` threads.
std::vector<WarmedOp> WarmForVerify(const VerifyKernels& kernels, absl::Span<const OpToVerify> ops,
                                    int jobs);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_LIST_H_
