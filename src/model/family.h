// Family is one row of the table that says, for a kind of model, how its config.json names the
// feed-forward blocks and where norm and residual sit. Invariant: names and defaults are those of
// Hugging Face transformers, which is what wrote the files. Constants; thread-safe.
#ifndef FUSEBOX_SRC_MODEL_FAMILY_H_
#define FUSEBOX_SRC_MODEL_FAMILY_H_

#include <array>
#include <cstdint>
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

// What a layer computes with the block f; x is what the block's norm n reads.
enum class BlockOrder : int32_t {
  kPreNorm = 1,         // x + f(n(x))
  kSandwich,            // x + n2(f(n(x)))
  kNormedResidual,      // x + f(x), x fresh from a norm: that norm is the residual's too
  kParallelOwnNorm,     // x + attention(n1(x)) + f(n(x))
  kParallelSharedNorm,  // x + attention(n(x)) + f(n(x))
};

// How vLLM, SGLang and TensorRT-LLM write a pre-norm layer of the family. transformers always adds
// the residual to the block's result.
enum class ResidualHabit : int32_t {
  kCarried = 1,  // beside x, added by the next norm in one operation
  kAdded         // to the block's result, at once
};

enum class WeightForm : int32_t { kFused = 1, kSeparate };     // gate and up: one matrix, or two
enum class AbsentDim : int32_t { kRefused = 1, kFourHidden };  // an intermediate size not given

// A flag of the config that changes the row's order.
struct OrderFlag {
  std::string_view field;  // empty: no flag
  bool default_value = false;
  bool value = true;  // with which `order` holds
  BlockOrder order = BlockOrder::kPreNorm;
};

// How a mixture of experts names its dims; names left empty are fields it does not have. A layer is
// a mixture unless one of the fields makes it dense.
struct ExpertFields {
  std::string_view count;                // routed experts a layer; empty: the family has no experts
  std::string_view intermediate;         // of one routed expert
  std::string_view shared_intermediate;  // of the shared expert; missing: there is none
  std::string_view shared_count;         // or: the shared expert is this many routed ones wide
  std::string_view first_dense;          // layers before the first mixture
  std::string_view every;  // layer i is a mixture where every divides i + every_offset
  int64_t every_offset = 0;
  std::string_view dense_layers;  // the list of layers that are dense
};

struct Refusal {
  std::string_view rule;  // empty: served
  std::string_view sentence;
};

struct Family {
  std::string_view model_type;    // config's model_type
  std::string_view class_prefix;  // of the names in architectures: "Llama" in LlamaForCausalLM
  std::string_view nested;        // object that holds the fields below; empty: the config itself
  std::string_view layers_field = "num_hidden_layers";
  std::string_view hidden_field = "hidden_size";
  std::string_view intermediate_field = "intermediate_size";  // empty: never given
  AbsentDim absent_intermediate = AbsentDim::kRefused;
  FfnForm form = FfnForm::kGated;
  std::string_view activation_field = "hidden_act";  // empty: always default_activation
  std::string_view default_activation = "silu";
  std::string_view engine_activation;  // of vLLM and others where it differs; empty: the same
  BiasRule bias_rule = BiasRule::kNever;
  std::string_view bias_field;  // empty where no field decides
  Norm norm = Norm::kRms;
  std::string_view rms_flag;  // false in the config: LayerNorm instead; empty: no such field
  std::string_view eps_field = "rms_norm_eps";  // empty: always default_eps
  double default_eps = 1e-6;
  BlockOrder order = BlockOrder::kPreNorm;
  std::array<OrderFlag, 2> order_flags = {};  // the first that holds wins
  ResidualHabit residual = ResidualHabit::kCarried;
  WeightForm checkpoint_form = WeightForm::kSeparate;
  WeightLayout checkpoint_layout = WeightLayout::kOutIn;
  ExpertFields experts = {};
  Refusal refusal = {};
};

std::span<const Family> KnownFamilies();  // served ones, and those with a refusal of their own

// Chooses by model_type, or by the class name in architectures where a config has no model_type.
// Declined (architecture), naming the ones served, for everything else, and where the two disagree.
absl::StatusOr<Family> FindFamily(std::string_view model_type, std::string_view architecture);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_MODEL_FAMILY_H_
