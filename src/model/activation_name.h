// ActivationByName reads the names that Hugging Face transformers gives activations (ACT2FN).
// A pure function.
#ifndef FUSEBOX_SRC_MODEL_ACTIVATION_NAME_H_
#define FUSEBOX_SRC_MODEL_ACTIVATION_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

// The activation that transformers calls `name`. Declined (activation) for one that transformers
// has and this version does not; InvalidArgument for any other name, with `field`.
absl::StatusOr<Activation> ActivationByName(std::string_view field, std::string_view name);

// A name out of a file for a sentence: in quotes, printable and short.
std::string QuotedName(std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_ACTIVATION_NAME_H_
