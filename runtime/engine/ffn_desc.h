// FfnSpec is a fusebox_ffn_desc that passed: the problem that kernels are made for, and what only
// the binding needs. ReadFfnDesc tells unknown values (InvalidArgument) from legal ones that this
// version does not serve (Declined, with the rule's name). Pure functions.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_DESC_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_DESC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "fusebox/ffn.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

enum class GateUp : int32_t { kFused = 0, kReversed = 1, kSeparate = 2 };

struct FfnSpec {
  FfnProblem problem;
  GateUp gate_up = GateUp::kFused;  // gated problems only
  int max_tokens = 0;               // 1..kMaxTokens
};

absl::StatusOr<FfnSpec> ReadFfnDesc(const fusebox_ffn_desc* desc);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_DESC_H_
