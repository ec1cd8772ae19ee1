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

double MicrosAt(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e3); }

// The rate of a stream that two limits hold back. The 4-norm of the HBM roof and of the bytes in
// flight meets what was measured with 32, 64 and 200 KiB in flight (hbm_latency_ns' source); sqrt
// is exact everywhere, a power is not.
double SoftMinimum(double roof, double other) {
  const double r = (roof / other) * (roof / other);
  return roof / std::sqrt(std::sqrt(1.0 + r * r));
}

// Bytes that the grid keeps in flight in a phase, as a rate.
double InFlightRate(const FusionPlan& plan, const PhaseTraffic& phase, const DeviceSpec& device) {
  const double free_slots =
      std::min<double>(std::max(plan.ring_slots - device.held_slots, 0.5), plan.slots_in_flight);
  const double slots = std::min(free_slots, static_cast<double>(phase.slots));
  const double bytes = slots * static_cast<double>(phase.slot_bytes) * plan.grid_ctas();
  return bytes / device.hbm_latency_ns;  // bytes per ns: GB/s
}

PhaseCost CostOfPhase(const FusionPlan& plan, const PhaseTraffic& phase, const DeviceSpec& device) {
  const double cycles_per_us = device.clock_ghz * 1e3;
  const auto slots = static_cast<double>(phase.slots);
  const auto wgmmas = static_cast<double>(phase.wgmmas);
  PhaseCost cost;
  const double roof =
      SoftMinimum(device.weight_stream_gb_per_s, device.sm_stream_gb_per_s * plan.grid_ctas());
  const double rate = SoftMinimum(roof, InFlightRate(plan, phase, device));
  cost.hbm_us = MicrosAt(static_cast<double>(phase.hbm_bytes), rate);
  cost.sm_stream_us =
      MicrosAt(static_cast<double>(phase.widest_cta_bytes), device.sm_stream_gb_per_s);
  cost.l2_us = MicrosAt(static_cast<double>(phase.hbm_bytes + phase.activation_bytes),
                        device.l2_to_sm_gb_per_s);
  if (phase.activation_bytes > 0) {
    cost.activation_us = slots * device.l2_load_latency_ns / plan.activation_slots / kNsPerUs;
  }
  cost.smem_us =
      static_cast<double>(phase.smem_bytes) / device.smem_bytes_per_cycle / cycles_per_us;
  cost.tensor_us = wgmmas * device.wgmma_cycles_per_token * plan.token_tile / cycles_per_us;
  cost.producer_us = (slots * device.producer_slot_ns +
                      static_cast<double>(phase.boxes) * device.producer_box_ns) /
                     kNsPerUs;
  cost.consumer_us = (slots * device.consumer_slot_ns +
                      static_cast<double>(phase.wgmma_chain) * device.wgmma_issue_ns) /
                     kNsPerUs;
  return cost;
}

double EdgeMicros(const FusionPlan& plan, const Traffic& traffic, const DeviceSpec& device) {
  const int tiles = UpTilesPerWarpgroup(plan) * (plan.token_tile / 8);
  double ns = device.epilogue_ns + tiles * device.epilogue_tile_ns;
  if (plan.up.k_warpgroups > 1) ns += device.k_exchange_ns;
  if (plan.cluster_size > 1) {
    const double all_bytes = static_cast<double>(traffic.dsm_bytes_per_cta) * plan.grid_ctas();
    ns += device.dsm_push_ns + (plan.cluster_size - 1) * device.dsm_peer_ns;
    ns += all_bytes / device.FindCluster(plan.cluster_size)->dsm_gb_per_s;
  }
  return ns / kNsPerUs;
}

// Time of phase 2 that the edge hides: while h is under way the ring fills, until it is full.
double HiddenMicros(const FusionPlan& plan, const CostBreakdown& cost, const Traffic& traffic) {
  const double ring_share =
      std::min(1.0, static_cast<double>(plan.ring_slots) / static_cast<double>(traffic.down.slots));
  const double stream_behind_edge = std::min(cost.edge_us, cost.down.hbm_us * ring_share);
  const double after_edge = std::max(cost.down.work_us(), cost.down.hbm_us - stream_behind_edge);
  return cost.down.us() - after_edge;
}

double ImbalanceMicros(const FusionPlan& plan, const CostBreakdown& cost, const Traffic& traffic,
                       const DeviceSpec& device) {
  const auto widest =
      static_cast<double>(traffic.up.widest_cta_bytes + traffic.down.widest_cta_bytes);
  const double mean =
      static_cast<double>(traffic.up.hbm_bytes + traffic.down.hbm_bytes) / plan.grid_ctas();
  return std::max(widest / mean - 1.0, 0.0) * (cost.up.hbm_us + cost.down.hbm_us) *
         device.imbalance_exposed;
}

// What the last pass leaves after the stream: its sums through L2, then, in the CTA that finishes a
// unit, batches of clusters' loads one after the other. The first load is part of the exchange.
// Earlier passes are finished behind the stream.
double CombineMicros(const FusionPlan& plan, const Traffic& traffic, const DeviceSpec& device) {
  const double last_pass = static_cast<double>(traffic.partial_bytes) / plan.down.passes;
  const double transfer = MicrosAt(2.0 * last_pass, device.l2_to_sm_gb_per_s);  // written and read
  const int64_t units_of_warp = int64_t{DownTilesPerWarpgroup(plan)} * (plan.token_tile / 8);
  const int64_t sharers = plan.combine_patience_cycles > 0 ? plan.num_clusters : 1;
  const int64_t loads =
      CeilDiv(units_of_warp, sharers) * CeilDiv(plan.num_clusters, device.combine_batch);
  const double ns =
      device.grid_exchange_ns + static_cast<double>(loads - 1) * device.l2_load_latency_ns;
  return transfer + ns / kNsPerUs;
}

// With half an SM each, the next kernel's ring fills while this one combines and starts.
double OverlapMicros(const FusionPlan& plan, const CostBreakdown& cost, const Traffic& traffic,
                     const DeviceSpec& device) {
  const ClusterCapacity& cluster = *device.FindCluster(plan.cluster_size);
  if (plan.resident_ctas_per_sm < 2 || 2 * plan.grid_ctas() > cluster.resident_two_per_sm) return 0;
  const double ring_bytes =
      static_cast<double>(std::min<int64_t>(plan.ring_slots, traffic.up.slots) *
                          traffic.up.slot_bytes) *
      plan.grid_ctas();
  const double ring_fill_us = MicrosAt(ring_bytes, device.weight_stream_gb_per_s);
  return std::min(cost.prologue_us + cost.combine_us, ring_fill_us) * device.overlap_share;
}

using NamedTerm = std::pair<std::string_view, double>;

std::array<NamedTerm, 8> TermsOf(const PhaseCost& cost) {
  return {{{"hbm", cost.hbm_us},
           {"sm_stream", cost.sm_stream_us},
           {"l2", cost.l2_us},
           {"activation", cost.activation_us},
           {"smem", cost.smem_us},
           {"tensor", cost.tensor_us},
           {"producer", cost.producer_us},
           {"consumer", cost.consumer_us}}};
}

double Rounded(double us) { return std::round(us * 1e3) / 1e3; }

nlohmann::ordered_json PhaseToJson(const PhaseCost& cost) {
  nlohmann::ordered_json json = {{"us", Rounded(cost.us())}, {"bound", cost.bound()}};
  for (const auto& [name, us] : TermsOf(cost)) json[std::string(name) + "_us"] = Rounded(us);
  return json;
}

}  // namespace

double PhaseCost::us() const { return std::max(hbm_us, work_us()); }

double PhaseCost::work_us() const {
  return std::max(
      {sm_stream_us, l2_us, activation_us, smem_us, tensor_us, producer_us, consumer_us});
}

std::string_view PhaseCost::bound() const {
  const auto terms = TermsOf(*this);
  return std::max_element(
             terms.begin(), terms.end(),
             [](const NamedTerm& a, const NamedTerm& b) { return a.second < b.second; })
      ->first;
}

double CostBreakdown::us() const {
  return boundary_us + prologue_us + up.us() + edge_us + down.us() - hidden_us + imbalance_us +
         combine_us - overlap_us;
}

std::string CostBreakdown::ToJson() const {
  const nlohmann::ordered_json json = {{"us", Rounded(us())},
                                       {"floor_us", Rounded(floor_us)},
                                       {"ratio", Rounded(us() / floor_us)},
                                       {"boundary_us", Rounded(boundary_us)},
                                       {"prologue_us", Rounded(prologue_us)},
                                       {"up", PhaseToJson(up)},
                                       {"edge_us", Rounded(edge_us)},
                                       {"down", PhaseToJson(down)},
                                       {"hidden_us", Rounded(hidden_us)},
                                       {"imbalance_us", Rounded(imbalance_us)},
                                       {"combine_us", Rounded(combine_us)},
                                       {"overlap_us", Rounded(overlap_us)}};
  return json.dump();
}

CostBreakdown EstimateCost(const FusionPlan& plan, const DeviceSpec& device, Boundary boundary) {
  const Traffic traffic = TrafficOf(plan);
  CostBreakdown cost;
  cost.floor_us = MicrosAt(static_cast<double>(plan.problem.compulsory_bytes(plan.token_tile)),
                           device.hbm_read_gb_per_s);
  cost.boundary_us = boundary == Boundary::kPdl ? device.boundary_pdl_us : device.boundary_plain_us;
  cost.prologue_us = device.prologue_us + device.FindCluster(plan.cluster_size)->launch_us;
  cost.up = CostOfPhase(plan, traffic.up, device);
  cost.down = CostOfPhase(plan, traffic.down, device);
  cost.edge_us = EdgeMicros(plan, traffic, device);
  cost.hidden_us = HiddenMicros(plan, cost, traffic);
  cost.imbalance_us = ImbalanceMicros(plan, cost, traffic, device);
  cost.combine_us = CombineMicros(plan, traffic, device);
  if (boundary == Boundary::kPdl) cost.overlap_us = OverlapMicros(plan, cost, traffic, device);
  return cost;
}

}  // namespace fusebox
