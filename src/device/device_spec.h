// DeviceSpec is a GPU as numbers: what legality checks against and what the cost model computes
// with. Read from a profile (src/device/profiles/*.json), where each number names its source; every
// constant of the planner stands there and none in code, so that a calibration is a new profile and
// nothing else. Invariant: a DeviceSpec from FromJson is complete and within sane ranges. A value;
// no threads.
#ifndef FUSEBOX_SRC_DEVICE_DEVICE_SPEC_H_
#define FUSEBOX_SRC_DEVICE_DEVICE_SPEC_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fusebox {

constexpr std::array<int, 5> kClusterSizes = {1, 2, 4, 8, 16};  // 16 is beyond the portable 8

struct ClusterCapacity {
  int cluster_size = 1;
  int resident_ctas = 0;    // at once, one on an SM
  double dsm_gb_per_s = 0;  // pushes into peers' shared memory, over the whole GPU
  double launch_us = 0;     // what a launch of such clusters takes more than of smaller ones
};

// What the operations of an op take one by one, as kernels of a CUDA graph (src/plan/unfused_cost).
struct UnfusedRates {
  double gemm_us = 0;        // a GEMM's, beyond what its bytes and flops take
  double gemm_gb_per_s = 0;  // its bytes, weights and activations
  double gemm_tflops = 0;    // its MMAs beside that stream
  double elementwise_us = 0;
  double elementwise_gb_per_s = 0;  // what it reads and writes, in L2
};

// Rates in GB/s (1e9), times in ns or us as named. The kernel's own costs were measured or derived
// for kernels_templates/ on this GPU.
struct DeviceSpec {
  std::string name;          // "h200-sxm"
  std::string architecture;  // "sm_90a"

  int num_sms = 0;
  int64_t smem_per_cta_bytes = 0;  // the most that one CTA can ask for
  int64_t registers_per_sm = 0;
  int max_registers_per_thread = 0;
  int max_threads_per_cta = 0;
  int64_t l2_bytes = 0;
  std::array<ClusterCapacity, kClusterSizes.size()> clusters;

  double clock_ghz = 0;               // SM clock under this load
  double hbm_read_gb_per_s = 0;       // best read-only stream: the floor's rate
  double weight_stream_gb_per_s = 0;  // row-major weights through TMA
  double hbm_latency_ns = 0;          // of a CTA's bytes in flight, under load
  double queue_depth = 0;  // the grid's bytes in flight over rate x latency that still do no harm
  double model_resolution = 0;       // predictions nearer than this share of each other are ties
  double queue_cost = 0;             // share of the stream's time lost when there are twice as many
  double activation_latency_ns = 0;  // TMA load of an activation slot that hits L2, under load
  double smem_bytes_per_cycle = 0;   // one SM
  double partials_l2_share = 0;      // of L2 that what CTAs hand over may take and not be evicted

  double boundary_plain_us = 0;    // between kernels of one stream in a graph
  double boundary_pdl_us = 0;      // same, with programmatic dependent launch
  double launch_us = 0;            // first slot's arrival, last exchange: what every launch takes
  double held_slots = 0;           // ring slots that the consumers hold while they wait
  double producer_box_ns = 0;      // one TMA box
  double wgmma_ns = 0;             // one m64nNk16 in its warpgroup's chain, whatever N
  double wgmma_ns_per_token = 0;   // one m64nNk16 in its warpgroup's chain, per column of N
  double k_exchange_ns = 0;        // sums handed between warpgroups that split k
  double slot_ns = 0;              // a consumer's turn at a ring slot beside its MMAs
  double grid_gather_us = 0;       // h to L2, the grid barrier, the first of it back
  double reduce_scatter_us = 0;    // dsm reduce_scatter beside its bytes
  double combine_unit_ns = 0;      // 16 rows x 8 tokens: a latency of one batch's loads
  double combine_pass_ns = 0;      // a pass's arrivals and first loads, before its units
  double combine_patience_ns = 0;  // what letting the others arrive first costs
  double combine_party_ns = 0;     // one more cluster that the last outputs wait for
  int combine_batch = 0;           // clusters whose partials one lane loads at a time
  int kernel_registers = 0;        // registers of a thread beside its accumulators

  UnfusedRates unfused;

  // nullptr for a size that is none of kClusterSizes.
  const ClusterCapacity* FindCluster(int cluster_size) const;

  // Path of each number in the profile to what its source says: "hbm_read_gb_per_s" -> "measured
  // ...".
  std::map<std::string, std::string> sources;

  // Strict: every field, no other, each {"value": number, "source": sentence}. InvalidArgument
  // otherwise.
  static absl::StatusOr<DeviceSpec> FromJson(std::string_view json);
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_DEVICE_DEVICE_SPEC_H_
