#include "src/plan/candidates.h"

#include <algorithm>
#include <array>

#include "src/plan/footprint.h"
#include "src/plan/legality.h"

namespace fusebox {
namespace {

constexpr std::array<int, 3> kSlotDepths = {64, 128, 256};    // k elements: 1, 2 or 4 boxes
constexpr std::array<int, 3> kActivationDepths = {16, 8, 4};  // slots the weight ring leaves
constexpr std::array<int, 3> kKibInFlight = {64, 96, 128};    // of weights, each CTA, about
constexpr std::array<int, 2> kPatienceCycles = {0, 50000};    // 28 us: no wait reaches it
constexpr int kMaxKCtas = 8;  // strips of 16 rows of two tiles: what each of the CTAs can finish
constexpr std::array<int, 2> kKSharers = {1, 2};  // of the two consumer warpgroups
constexpr int kMulticastTile = 64;                // below it activations are few beside the weights
constexpr int kConsumerWarpgroups = 2;  // four were measured 15 % and more behind the best of two
constexpr int kMaxRingSlots = 32;       // two barriers each; by then a slot is below 8 KiB

void AddUnique(std::vector<int>& values, int64_t value) {
  if (value < kRowGranule || value > kMaxBoxRows) return;
  const int row_count = static_cast<int>(value);
  if (std::find(values.begin(), values.end(), row_count) == values.end())
    values.push_back(row_count);
}

// Rows of a phase come in these: a swizzle atom, or in layout in_out a whole box.
int64_t GranuleOf(const FfnProblem& problem) {
  return problem.layout == WeightLayout::kInOut ? kBoxK : kRowGranule;
}

// Dsm gather, intermediate rows per CTA: the smallest that fit the resident clusters, then round
// ones.
std::vector<int> RowsPerCta(const FfnProblem& problem, int cluster_size, int max_clusters) {
  std::vector<int> rows;
  if (max_clusters == 0) return rows;
  const int64_t intermediate = problem.intermediate.value();
  const int64_t granule =
      std::max(GranuleOf(problem), RoundUp(CeilDiv(kWgmmaK, cluster_size), kRowGranule));
  const int64_t fewest =
      RoundUp(CeilDiv(intermediate, int64_t{cluster_size} * max_clusters), granule);
  for (int step = 0; step < 3; ++step) AddUnique(rows, fewest + step * granule);
  for (int64_t round : {32, 64, 128}) AddUnique(rows, RoundUp(fewest, round));
  return rows;
}

// Passes and rows of one pass for a CTA's slice: the fewest passes, and those whose rows come near
// whole wgmma tiles.
std::vector<PhasePartition> PassOptions(int64_t slice_rows, int64_t granule) {
  std::vector<PhasePartition> options;
  for (int64_t rows_wanted : {256, 192, 128, 64}) {
    const int64_t num_passes = CeilDiv(slice_rows, rows_wanted);
    const PhasePartition option{
        .rows_per_pass = static_cast<int>(RoundUp(CeilDiv(slice_rows, num_passes), granule)),
        .passes = static_cast<int>(num_passes)};
    if (std::find(options.begin(), options.end(), option) == options.end())
      options.push_back(option);
  }
  return options;
}

// Slots of an activation that the plan streams: x, and h of grid gather.
int64_t ActivationStream(const FusionPlan& plan) {
  const int64_t x = plan.up.passes * CeilDiv(plan.problem.hidden.value(), plan.up.k_per_slot);
  if (!plan.gathers_over_grid()) return x;
  return x + plan.down.passes * CeilDiv(plan.down_k(), plan.down.k_per_slot);
}

// As many weight slots as shared memory holds beside the rest, and no more than the stream has.
int DeepestRing(FusionPlan plan, const DeviceSpec& device) {
  plan.ring_slots = 0;
  const Footprint rest = FootprintOf(plan);
  const int64_t free_bytes = device.smem_per_cta_bytes - rest.total_bytes;
  if (free_bytes <= 0) return 0;
  const int64_t slots = free_bytes / (rest.slot_bytes + kSlotBarrierBytes);
  const int64_t stream = plan.up.passes * CeilDiv(plan.problem.hidden.value(), plan.up.k_per_slot) +
                         plan.down.passes * CeilDiv(plan.down_k(), plan.down.k_per_slot);
  // A short stream leaves some unused.
  return static_cast<int>(
      std::min({slots, std::max<int64_t>(stream, kMinRingSlots), int64_t{kMaxRingSlots}}));
}

// Activation slots that fit beside the rings of `plan`, up to the deepest and to what is streamed.
int DeepestActivations(const FusionPlan& plan, const DeviceSpec& device) {
  const Footprint footprint = FootprintOf(plan);
  const int64_t more = (device.smem_per_cta_bytes - footprint.total_bytes) /
                       (footprint.activation_slot_bytes + kSlotBarrierBytes);
  return static_cast<int>(std::min({plan.activation_slots + std::max<int64_t>(more, 0),
                                    std::max<int64_t>(ActivationStream(plan), kMinActivationSlots),
                                    int64_t{kActivationDepths.front()}}));
}

// How many of the ring's slots are in flight, by bytes, and whether the combine is patient.
void VisitStreams(FusionPlan plan, absl::FunctionRef<void(const FusionPlan&)> visit) {
  const int64_t slot_bytes = std::max(UpSlotBytes(plan), DownSlotBytes(plan));
  int previous = 0;
  for (int kib : kKibInFlight) {
    const int64_t slots = (kib * 1024 + slot_bytes / 2) / slot_bytes;
    plan.slots_in_flight =
        static_cast<int>(std::clamp<int64_t>(slots, 1, std::max(plan.ring_slots, 1)));
    if (plan.slots_in_flight == previous) continue;
    previous = plan.slots_in_flight;
    for (int patience : kPatienceCycles) {
      if (plan.gathers_over_grid() && patience > 0) continue;
      plan.combine_patience_cycles = patience;
      visit(plan);
    }
  }
}

// Ring geometry for a fixed partition: activation slots, and a weight ring that fills the rest.
void VisitRings(FusionPlan plan, const DeviceSpec& device,
                absl::FunctionRef<void(const FusionPlan&)> visit) {
  const auto streamed = static_cast<int>(ActivationStream(plan));
  int previous = -1;
  for (int depth : kActivationDepths) {
    plan.activation_slots = std::max(kMinActivationSlots, std::min(depth, streamed));
    plan.ring_slots = DeepestRing(plan, device);
    if (plan.ring_slots == previous) continue;  // fewer activation slots that buy nothing
    previous = plan.ring_slots;
    plan.activation_slots = DeepestActivations(plan, device);
    VisitStreams(plan, visit);
  }
}

// The activation multicast over the cluster, where there is enough of it and the rows allow.
bool Multicasts(const FusionPlan& plan) {
  return plan.token_tile >= kMulticastTile && plan.cluster_size > 1 &&
         plan.token_tile % (8 * plan.cluster_size) == 0;
}

void VisitSlots(FusionPlan plan, const DeviceSpec& device,
                absl::FunctionRef<void(const FusionPlan&)> visit) {
  const int64_t up_k = RoundUp(plan.problem.hidden.value(), kBoxK);
  const int64_t down_k = RoundUp(plan.down_k(), kBoxK);
  plan.consumer_warpgroups = kConsumerWarpgroups;
  plan.activation_multicast = Multicasts(plan);
  for (int up_depth : kSlotDepths) {
    if (up_depth > up_k) continue;
    plan.up.k_per_slot = up_depth;
    for (int down_depth : kSlotDepths) {
      if (down_depth > down_k) continue;
      plan.down.k_per_slot = down_depth;
      for (int k_sharers : kKSharers) {
        plan.up.k_warpgroups = k_sharers;
        VisitRings(plan, device, visit);
      }
    }
  }
}

void VisitDsmGather(const FfnProblem& problem, int token_tile, const DeviceSpec& device,
                    absl::FunctionRef<void(const FusionPlan&)> visit) {
  const int64_t granule = GranuleOf(problem);
  for (const ClusterCapacity& cluster : device.clusters) {
    const int size = cluster.cluster_size;
    FusionPlan plan{.problem = problem, .token_tile = token_tile, .cluster_size = size};
    const int64_t slice = RoundUp(CeilDiv(problem.hidden.value(), size), granule);
    for (int rows : RowsPerCta(problem, size, cluster.resident_ctas / size)) {
      plan.up.rows_per_pass = rows;
      plan.num_clusters =
          static_cast<int>(CeilDiv(problem.intermediate.value(), plan.chunk_rows()));
      for (const PhasePartition& down : PassOptions(slice, granule)) {
        plan.down = down;
        VisitSlots(plan, device, visit);
      }
    }
  }
}

// How many CTAs split the k of phase 2: as many as a cluster has, or half of them.
std::vector<int> KCtasOptions(const FfnProblem& problem, int cluster_size) {
  // What CTAs that do not split k share is a norm's rows alone.
  if (cluster_size == 1) return {1};
  std::vector<int> options;
  const bool shares_rows = problem.norm != Norm::kNone && (cluster_size == 4 || cluster_size == 8);
  if (shares_rows) options.push_back(1);
  if (cluster_size <= kMaxKCtas) options.push_back(cluster_size);
  if (cluster_size / 2 > 1 && cluster_size % 2 == 0) options.push_back(cluster_size / 2);
  return options;
}

// Few tokens fill wgmma's columns well, and many its rows.
std::vector<MmaRows> MmaRowsOptions(const FfnProblem& problem, int token_tile) {
  if (token_tile < kWgmmaRows || problem.layout == WeightLayout::kInOut) return {MmaRows::kWeights};
  return {MmaRows::kWeights, MmaRows::kTokens};
}

// Partitions of phase 2 over a grid of `resident` CTAs, `k_ctas` of them with the same rows.
std::vector<PhasePartition> GridDownOptions(const FusionPlan& plan, int resident, int k_ctas) {
  const int64_t granule = GranuleOf(plan.problem);
  const int64_t rows = RoundUp(CeilDiv(plan.problem.hidden.value(), resident / k_ctas), granule);
  std::vector<PhasePartition> options;
  for (PhasePartition option : PassOptions(rows, granule)) {
    if (k_ctas > 1 && option.passes > 1) continue;
    option.k_ctas = k_ctas;
    // One tile of rows leaves the second warpgroup nothing but a share of k.
    const int lines = plan.mma_rows == MmaRows::kTokens ? plan.token_tile : option.rows_per_pass;
    option.k_warpgroups = lines <= kWgmmaRows ? kConsumerWarpgroups : 1;
    options.push_back(option);
  }
  return options;
}

// Both phases dealt to a grid of at most `resident` CTAs.
void VisitGrid(FusionPlan plan, int resident, int k_ctas, const DeviceSpec& device,
               absl::FunctionRef<void(const FusionPlan&)> visit) {
  const int64_t granule = GranuleOf(plan.problem);
  const int64_t intermediate = plan.problem.intermediate.value();
  const int64_t hidden = plan.problem.hidden.value();
  plan.combine = k_ctas > 1 ? Combine::kDsmReduceScatter : Combine::kNone;
  for (const auto& up : PassOptions(RoundUp(CeilDiv(intermediate, resident), granule), granule)) {
    plan.up = up;
    for (const auto& down : GridDownOptions(plan, resident, k_ctas)) {
      plan.down = down;
      const int64_t ctas = std::max(CeilDiv(intermediate, up.rows_per_cta()),
                                    CeilDiv(hidden, down.rows_per_cta()) * k_ctas);
      plan.num_clusters = static_cast<int>(CeilDiv(ctas, plan.cluster_size));
      VisitSlots(plan, device, visit);
    }
  }
}

void VisitGridGather(const FfnProblem& problem, int token_tile, const DeviceSpec& device,
                     absl::FunctionRef<void(const FusionPlan&)> visit) {
  for (const ClusterCapacity& cluster : device.clusters) {
    const int size = cluster.cluster_size;
    const int resident = cluster.resident_ctas / size * size;
    if (resident == 0) continue;
    FusionPlan plan{.problem = problem,
                    .token_tile = token_tile,
                    .cluster_size = size,
                    .edge_scope = Scope::kGrid};
    for (const MmaRows mma_rows : MmaRowsOptions(problem, token_tile)) {
      plan.mma_rows = mma_rows;
      for (int k_ctas : KCtasOptions(problem, size))
        VisitGrid(plan, resident, k_ctas, device, visit);
    }
  }
}

}  // namespace

void ForEachCandidate(const FfnProblem& problem, int token_tile, const DeviceSpec& device,
                      absl::FunctionRef<void(const FusionPlan&)> visit) {
  VisitDsmGather(problem, token_tile, device, visit);
  VisitGridGather(problem, token_tile, device, visit);
}

std::vector<FusionPlan> EnumerateCandidates(const FfnProblem& problem, int token_tile,
                                            const DeviceSpec& device) {
  std::vector<FusionPlan> plans;
  ForEachCandidate(problem, token_tile, device,
                   [&](const FusionPlan& plan) { plans.push_back(plan); });
  return plans;
}

}  // namespace fusebox
