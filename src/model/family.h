// Family is one row of the table that says, for a kind of model, how its config.json names the
// feed-forward block. Invariant: names and defaults are those of Hugging Face transformers, which
// is what wrote the files. Constants; thread-safe.
#ifndef FUSEBOX_SRC_MODEL_FAMILY_H_
#define FUSEBOX_SRC_MODEL_FAMILY_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

enum class BiasRule : int32_t {
  kNever,         // the linears have no bias, whatever the config says
  kAlways,        // they have one, and no field turns it off
  kFieldOrNone,   // bias_field decides; none where it is missing
  kFieldOrBiases  // bias_field decides; biases where it is missing
};

struct Family {
  std::string_view model_type;    // config's model_type
  std::string_view class_prefix;  // of the names in architectures: "Llama" in LlamaForCausalLM
  FfnForm form;
  std::string_view intermediate_field;
  std::string_view activation_field;
  std::string_view default_activation;
  BiasRule bias_rule;
  std::string_view bias_field;  // empty where no field decides
};

std::span<const Family> ServedFamilies();

// Chooses by model_type, or by the class name in architectures where a config has no model_type.
// Declined (architecture), naming the ones served, for everything else, and where the two disagree.
absl::StatusOr<Family> FindFamily(std::string_view model_type, std::string_view architecture);

// The activation that transformers calls `name`. Declined (activation) for one that transformers
// has and this version does not; InvalidArgument for any other name.
absl::StatusOr<Activation> ActivationByName(std::string_view field, std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_FAMILY_H_
