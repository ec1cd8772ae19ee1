// Plans that differ in every field that a kernel's text depends on: fixed by hand, so that a change
// of the search does not change what is tested here. All are legal on an H200.
#ifndef FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_
#define FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_

#include <string>
#include <vector>

#include "src/plan/fusion_plan.h"

namespace fusebox {

struct SamplePlan {
  std::string name;
  FusionPlan plan;
};

inline std::vector<SamplePlan> SamplePlans() {
  return {{"llama_2_7b_t8",
           {.problem = {.hidden = DimK(4096), .intermediate = DimN(11008)},
            .token_tile = 8,
            .cluster_size = 8,
            .num_clusters = 15,
            .consumer_warpgroups = 2,
            .ring_slots = 6,
            .slots_in_flight = 6,
            .activation_slots = 8,
            .up = {.rows_per_pass = 96, .k_per_slot = 64, .k_warpgroups = 1},
            .down = {.rows_per_pass = 256, .passes = 2, .k_per_slot = 64}}},
          {"plain_gelu_tails_t16",
           {.problem = {.hidden = DimK(360),
                        .intermediate = DimN(712),
                        .activation = Activation::kGeluErf,
                        .form = FfnForm::kPlain},
            .token_tile = 16,
            .cluster_size = 4,
            .num_clusters = 8,
            .consumer_warpgroups = 2,
            .ring_slots = 4,
            .slots_in_flight = 3,
            .activation_slots = 2,
            .up = {.rows_per_pass = 24, .k_per_slot = 128, .k_warpgroups = 2},
            .down = {.rows_per_pass = 48, .passes = 2, .k_per_slot = 64}}},
          {"gated_relu_add_after_t32",
           {.problem = {.hidden = DimK(1024),
                        .intermediate = DimN(2048),
                        .activation = Activation::kRelu,
                        .residual_mode = ResidualMode::kAddAfter},
            .token_tile = 32,
            .cluster_size = 1,
            .num_clusters = 32,
            .consumer_warpgroups = 2,
            .ring_slots = 3,
            .slots_in_flight = 3,
            .activation_slots = 2,
            .up = {.rows_per_pass = 64, .k_per_slot = 128, .k_warpgroups = 2},
            .down = {.rows_per_pass = 128, .passes = 8, .k_per_slot = 64},
            .combine_patience_cycles = 1000}},
          {"gated_gelu_tanh_fp16_sandwich_t16",
           {.problem = {.hidden = DimK(1024),
                        .intermediate = DimN(2048),
                        .dtype = DType::kFp16,
                        .activation = Activation::kGeluTanh,
                        .residual_mode = ResidualMode::kSandwich,
                        .norm = Norm::kRmsPlusOne},
            .token_tile = 16,
            .cluster_size = 4,
            .num_clusters = 8,
            .consumer_warpgroups = 2,
            .ring_slots = 4,
            .slots_in_flight = 4,
            .activation_slots = 4,
            .up = {.rows_per_pass = 64, .k_per_slot = 64, .k_warpgroups = 2},
            .down = {.rows_per_pass = 128, .passes = 2, .k_per_slot = 64}}},
          {"plain_relu_squared_layer_bias_fused_t8",
           {.problem = {.hidden = DimK(1024),
                        .intermediate = DimN(2048),
                        .activation = Activation::kReluSquared,
                        .form = FfnForm::kPlain,
                        .residual_mode = ResidualMode::kAddBeforeNorm,
                        .norm = Norm::kLayer,
                        .rounding = Rounding::kFused,
                        .up_bias = true,
                        .down_bias = true},
            .token_tile = 8,
            .cluster_size = 8,
            .num_clusters = 4,
            .consumer_warpgroups = 2,
            .ring_slots = 4,
            .slots_in_flight = 4,
            .activation_slots = 4,
            .up = {.rows_per_pass = 64, .k_per_slot = 128, .k_warpgroups = 1},
            .down = {.rows_per_pass = 128, .passes = 1, .k_per_slot = 64}}}};
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_
