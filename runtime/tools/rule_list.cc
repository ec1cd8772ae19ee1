#include "runtime/tools/rule_list.h"

namespace fusebox {
namespace {

constexpr std::string_view kSplit = "more tensor parallelism, or fewer tokens a launch";

constexpr RuleText kRules[] = {
    {"architecture", "model", "the model's family is one that this version knows", ""},
    {"quantization", "model", "the checkpoint's weights are not quantised",
     "a checkpoint in its original dtype"},
    {"activation", "model", "the config's activation is one that this version serves", ""},
    {"clamped_swiglu", "model", "gate and up are not interleaved row by row", ""},
    {"dtype", "model", "activations and weights are bf16 or fp16", "--dtype bf16 or fp16"},
    {"tensor_parallel", "model", "the degree divides the intermediate size", "another degree"},
    {"dim_granule", "op", "dims are multiples of 8: TMA needs rows of whole 16 bytes",
     "weights padded with zeros"},
    {"sandwich_norm", "op", "a second norm stands behind an RMSNorm",
     "the addition after the call"},
    {"token_limit", "op", "the tokens fit the largest token tile", "a batch split in two"},
    {"fields_positive", "plan", "every count is at least 1", ""},
    {"token_tile", "plan", "there is a kernel for the token tile", ""},
    {"cluster_fits", "plan", "the GPU launches clusters of this size", ""},
    {"exchange_reachable", "plan", "there is a kernel for the edge", ""},
    {"phase_split", "plan", "dsm gather makes h in one pass and does not split phase 2's k", ""},
    {"row_granule", "plan", "rows are dealt in whole boxes: 8, or 64 in layout in_out", ""},
    {"box_rows", "plan", "a copy has at most the 256 rows of a tensor map", ""},
    {"k_innermost", "plan", "a slot holds whole 128-byte rows", ""},
    {"k_granule", "plan", "a cluster's chunk is a multiple of wgmma's 16", ""},
    {"slot_useful", "plan", "a slot is no longer than what is streamed", ""},
    {"covers_intermediate", "plan", "every intermediate row has a CTA, every cluster work", ""},
    {"covers_outputs", "plan", "every output row has a CTA, every pass work", ""},
    {"covers_grid", "plan", "grid gather: every row has a CTA, every cluster work", ""},
    {"warpgroup_split", "plan", "the warpgroups divide a slot's k steps evenly", ""},
    {"mma_rows", "plan", "tokens take wgmma's rows with grid gather, in whole tiles of 64", ""},
    {"multicast_reachable", "plan", "each CTA of a cluster copies whole groups of 8 tokens", ""},
    {"k_ctas", "plan", "CTAs that split k have equal parts of it and of the outputs", ""},
    {"ring_fits", "plan", "shared memory has room for rings that keep copies in flight", kSplit},
    {"in_flight", "plan", "no more slots are in flight than the ring has", ""},
    {"co_resident", "plan", "all CTAs run at once, not in waves",
     "more tensor parallelism: less intermediate for each GPU"},
    {"smem_fits", "plan", "a CTA's buffers fit its shared memory", kSplit},
    {"tile_overread", "plan", "a tile at the ring's end reads inside shared memory", ""},
    {"sums_fit", "plan", "the rings have room for the sums of CTAs that split k", ""},
    {"registers_fit", "plan", "a thread's sums fit its registers", "fewer tokens a launch"},
    {"counters_fit", "plan", "the workspace has a counter for each piece of output",
     "fewer tokens a launch"},
    {"partials_fit_l2", "plan", "partial sums, or h of grid gather, stay in L2", kSplit},
    {"combine_parties", "plan", "an output is summed over at most 32 clusters",
     "more tensor parallelism"},
    {"fusion_pays", "plan", "the op is predicted to be no slower fused than as separate kernels",
     "FUSEBOX_DECLINE_SLOWER=0, and warm --even-if-slower, to be served all the same"},
    {"enabled", "call", "FUSEBOX_ENABLE serves the op", "FUSEBOX_ENABLE=1"},
    {"row_pitch", "call", "leading dimensions are multiples of 8", "padded rows"},
    {"..._served", "call", "this version has a kernel for that field of the op's description",
     "the value that the sentence names"},
};

}  // namespace

absl::Span<const RuleText> RuleList() { return kRules; }

std::string_view HelpFor(std::string_view rule) {
  for (const RuleText& text : kRules) {
    if (text.name == rule) return text.help;
  }
  return "";
}

Decline SplitDecline(std::string_view message) {
  const size_t colon = message.find(": ");
  if (colon == std::string_view::npos) return {.rule = "", .sentence = std::string(message)};
  return {.rule = std::string(message.substr(0, colon)),
          .sentence = std::string(message.substr(colon + 2))};
}

}  // namespace fusebox
