#include "src/plan/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/plan/footprint.h"

namespace fusebox {
namespace {

constexpr double kNsPerUs = 1e3;
constexpr int kCombinerWarps = 2;  // kernels_templates/edges/ordered_partials.cuh

double MicrosAt(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e3); }

// A phase's weights: the whole grid at the memory's rate, the widest CTA at that of its bytes in
// flight over the latency (4-norm: each was measured to hold the other back, near the other only).
// Beyond a few times what covers the latency, bytes in flight only queue, unevenly over the CTAs,
// and cost.
double HbmMicros(const FusionPlan& plan, const PhaseTraffic& phase, const DeviceSpec& device) {
  const double usable = std::max(plan.ring_slots - device.held_slots, 0.5);
  const double slots = std::min(
      {static_cast<double>(plan.slots_in_flight), usable, static_cast<double>(phase.slots)});
  const double in_flight = slots * static_cast<double>(phase.slot_bytes);
  const double grid_us =
      MicrosAt(static_cast<double>(phase.hbm_bytes), device.weight_stream_gb_per_s);
  const double cta_us =
      MicrosAt(static_cast<double>(phase.widest_cta_bytes), in_flight / device.hbm_latency_ns);
  const double covering = device.weight_stream_gb_per_s * device.hbm_latency_ns;
  const double depth = in_flight * plan.grid_ctas() / covering;
  const double queueing = std::max(depth / device.queue_depth - 1.0, 0.0) * device.queue_cost;
  const double grid_2 = grid_us * grid_us, cta_2 = cta_us * cta_us;
  return std::sqrt(std::sqrt(grid_2 * grid_2 + cta_2 * cta_2)) * (1.0 + queueing);
}

PhaseCost CostOfPhase(const FusionPlan& plan, const PhaseTraffic& phase, const DeviceSpec& device) {
  PhaseCost cost;
  cost.hbm_us = HbmMicros(plan, phase, device);
  cost.smem_us = static_cast<double>(phase.smem_bytes) / device.smem_bytes_per_cycle /
                 (device.clock_ghz * kNsPerUs);
  const double wgmma_ns =
      device.wgmma_ns + device.wgmma_ns_per_token * static_cast<double>(phase.wgmma_columns);
  cost.tensor_us = (static_cast<double>(phase.wgmma_chain) * wgmma_ns +
                    static_cast<double>(phase.slots) * device.slot_ns) /
                   kNsPerUs;
  cost.producer_us = static_cast<double>(phase.boxes) * device.producer_box_ns / kNsPerUs;
  if (phase.activation_bytes > 0) {
    cost.activation_us = static_cast<double>(phase.slots) * device.activation_latency_ns /
                         plan.activation_slots / kNsPerUs;
  }
  return cost;
}

double EdgeMicros(const FusionPlan& plan, const Traffic& traffic, const DeviceSpec& device) {
  if (plan.gathers_over_grid()) return device.grid_gather_us;
  const double all_bytes = static_cast<double>(traffic.dsm_bytes_per_cta) * plan.grid_ctas();
  double us = MicrosAt(all_bytes, device.FindCluster(plan.cluster_size)->dsm_gb_per_s);
  if (plan.up.k_warpgroups > 1) us += device.k_exchange_ns / kNsPerUs;
  return us;
}

// Adding up `units` of outputs by one warp: each takes a latency for every batch of clusters'
// partial sums and again as much for a batch's own loads. Without patience the CTA that comes last
// finds all units left to itself; with it the clusters share them.
double UnitsMicros(const FusionPlan& plan, int64_t units, const DeviceSpec& device) {
  const int64_t sharers = plan.combine_patience_cycles > 0 ? plan.num_clusters : 1;
  const double batches = static_cast<double>(CeilDiv(plan.num_clusters, device.combine_batch)) +
                         static_cast<double>(plan.num_clusters) / device.combine_batch;
  return static_cast<double>(CeilDiv(units, sharers)) * batches * device.combine_unit_ns / kNsPerUs;
}

// All passes but the last, one after the other.
double EarlierPassesMicros(const FusionPlan& plan, const DeviceSpec& device) {
  const int64_t strips = int64_t{TilesPerWarpgroup(plan, plan.down)} * plan.consumer_warpgroups * 4;
  const int64_t units_of_combiner = CeilDiv(strips * (plan.token_tile / 8), kCombinerWarps);
  const double pass_us =
      device.combine_pass_ns / kNsPerUs + UnitsMicros(plan, units_of_combiner, device);
  return (plan.down.passes - 1) * pass_us;
}

double LastPassMicros(const FusionPlan& plan, const DeviceSpec& device) {
  const int64_t units_of_warp = int64_t{TilesPerWarpgroup(plan, plan.down)} * (plan.token_tile / 8);
  const double patience_ns = plan.combine_patience_cycles > 0 ? device.combine_patience_ns : 0;
  const double parties_ns = plan.num_clusters * device.combine_party_ns;
  return UnitsMicros(plan, units_of_warp, device) + (patience_ns + parties_ns) / kNsPerUs;
}

// Each CTA pushes what it received, to the others that split k.
double ReduceScatterMicros(const FusionPlan& plan, const DeviceSpec& device) {
  const double all_bytes = static_cast<double>(ReceivedBytes(plan)) * plan.grid_ctas();
  return device.reduce_scatter_us +
         MicrosAt(all_bytes, device.FindCluster(plan.cluster_size)->dsm_gb_per_s);
}

// value to the power 2/5 by Newton's method, for 1 <= value <= 6: 8 steps from the chord leave
// nothing of the error.
double TwoFifthsPower(double value) {
  double power = 1.0 + (value - 1.0) / 4.0;
  for (int step = 0; step < 8; ++step) {
    const double square = power * power;
    power -= (power - value * value / (square * square)) / 5.0;
  }
  return power;
}

using NamedTerm = std::pair<std::string_view, double>;

std::array<NamedTerm, 6> TermsOf(const PhaseCost& cost) {
  return {{{"hbm", cost.hbm_us},
           {"smem", cost.smem_us},
           {"tensor", cost.tensor_us},
           {"producer", cost.producer_us},
           {"activation", cost.activation_us},
           {"combine", cost.combine_us}}};
}

double Rounded(double us) { return std::round(us * 1e3) / 1e3; }

nlohmann::ordered_json PhaseToJson(const PhaseCost& cost) {
  nlohmann::ordered_json json = {{"us", Rounded(cost.us())}, {"bound", cost.bound()}};
  for (const auto& [name, us] : TermsOf(cost)) json[std::string(name) + "_us"] = Rounded(us);
  return json;
}

}  // namespace

double PhaseCost::us() const {
  const auto terms = TermsOf(*this);
  double largest = 0;
  for (const auto& [name, us] : terms) largest = std::max(largest, us);
  if (largest <= 0) return 0;
  double sum = 0;
  for (const auto& [name, us] : terms) {
    const double share = us / largest;
    sum += share * share * std::sqrt(share);
  }
  return largest * TwoFifthsPower(sum);
}

std::string_view PhaseCost::bound() const {
  const auto terms = TermsOf(*this);
  return std::max_element(
             terms.begin(), terms.end(),
             [](const NamedTerm& a, const NamedTerm& b) { return a.second < b.second; })
      ->first;
}

double CostBreakdown::us() const {
  return boundary_us + launch_us + up.us() + edge_us + down.us() + combine_us;
}

std::string CostBreakdown::ToJson() const {
  const nlohmann::ordered_json json = {{"us", Rounded(us())},
                                       {"floor_us", Rounded(floor_us)},
                                       {"ratio", Rounded(us() / floor_us)},
                                       {"boundary_us", Rounded(boundary_us)},
                                       {"launch_us", Rounded(launch_us)},
                                       {"up", PhaseToJson(up)},
                                       {"edge_us", Rounded(edge_us)},
                                       {"down", PhaseToJson(down)},
                                       {"combine_us", Rounded(combine_us)}};
  return json.dump();
}

CostBreakdown EstimateCost(const FusionPlan& plan, const DeviceSpec& device, Boundary boundary) {
  const Traffic traffic = TrafficOf(plan);
  CostBreakdown cost;
  cost.floor_us = MicrosAt(static_cast<double>(plan.problem.compulsory_bytes(plan.token_tile)),
                           device.hbm_read_gb_per_s);
  cost.boundary_us = boundary == Boundary::kPdl ? device.boundary_pdl_us : device.boundary_plain_us;
  cost.launch_us = device.launch_us + device.FindCluster(plan.cluster_size)->launch_us;
  cost.up = CostOfPhase(plan, traffic.up, device);
  cost.edge_us = EdgeMicros(plan, traffic, device);
  cost.down = CostOfPhase(plan, traffic.down, device);
  if (plan.combine == Combine::kOrderedPartials) {
    cost.down.combine_us = EarlierPassesMicros(plan, device);
    cost.combine_us = LastPassMicros(plan, device);
  } else if (plan.combine == Combine::kDsmReduceScatter) {
    cost.combine_us = ReduceScatterMicros(plan, device);
  }
  return cost;
}

}  // namespace fusebox
