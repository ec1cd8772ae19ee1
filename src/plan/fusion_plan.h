// FusionPlan is everything that decides one FFN kernel: how each phase is dealt to CTAs, the ring,
// the edge, the combine.
//
// Dataflow "dsm gather": a cluster of `cluster_size` CTAs owns a contiguous chunk of cluster_size *
// up.rows_per_cta intermediate rows. Phase 1 (up): each CTA streams its rows of gate and up over
// all of hidden and makes its slice of h. Edge: the slice is pushed to every peer's shared memory,
// so that each CTA holds the cluster's chunk of h. Phase 2 (down): each CTA streams its slice of
// output rows (down.passes * down.rows_per_pass) over the chunk's columns. Combine: every cluster
// has a partial sum of all outputs; they are written to L2 and summed in cluster order by many CTAs
// ("ordered partials"), so results are bitwise repeatable. Tails are TMA zero fill: uniform work,
// no edge cases.
//
// In FlashFuser's words: cls_m = 1, cls_n = cluster_size (phase 1), cls_k = 1, cls_l = cluster_size
// (phase 2). Invariant: a plan returned by Search is legal (src/plan/legality.h). A value; no
// threads.
#ifndef FUSEBOX_SRC_PLAN_FUSION_PLAN_H_
#define FUSEBOX_SRC_PLAN_FUSION_PLAN_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/fingerprint.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

// Raised whenever candidates, rules, cost terms or a profile change the choice.
constexpr int kPlanSpaceVersion = 3;
constexpr int kBoxK = 64;  // elements: 128 bytes, inner width of every TMA box and the swizzle's
constexpr int kRowGranule = 8;  // rows: a swizzle atom, and a core matrix of wgmma
constexpr int kWgmmaRows = 64;  // rows of one wgmma's M operand
constexpr int kWgmmaK = 16;     // k elements of one wgmma

enum class Scope : int32_t { kSmem = 1, kDsm = 2, kGrid = 3 };
enum class Collective : int32_t { kGather = 1 };
enum class Combine : int32_t { kOrderedPartials = 1 };

std::string_view ToString(Scope scope);            // "smem", "dsm", "grid"
std::string_view ToString(Collective collective);  // "gather"
std::string_view ToString(Combine combine);        // "ordered_partials"

struct UpPhase {         // phase 1
  int rows_per_cta = 0;  // intermediate rows of one CTA; multiple of 8, <= 256
  int k_per_slot = 0;    // hidden elements of one ring slot of gate and up rows; multiple of 64
  int k_warpgroups = 1;  // warpgroups that split a slot's k16 steps; their sums are added in order
  friend auto operator<=>(const UpPhase&, const UpPhase&) = default;
};

struct DownPhase {        // phase 2
  int rows_per_pass = 0;  // output rows of one CTA in one pass; multiple of 8, <= 256
  int passes = 0;         // a CTA's output slice is passes * rows_per_pass rows
  int k_per_slot = 0;     // intermediate elements of one ring slot; multiple of 64
  friend auto operator<=>(const DownPhase&, const DownPhase&) = default;
};

struct FusionPlan {
  FfnProblem problem;
  int token_tile = 8;           // wgmma's N; the true token count is a run-time argument <= it
  int cluster_size = 1;         // CTAs of a cluster
  int num_clusters = 1;         // grid = num_clusters * cluster_size CTAs, resident at once
  int consumer_warpgroups = 2;  // plus one producer warpgroup
  int ring_slots = 0;           // weight ring; bytes of a slot: Footprint::slot_bytes
  int slots_in_flight = 0;      // weight slots issued and not yet landed, at most; <= ring_slots
  int activation_slots = 0;     // activation ring; a slot holds up.k_per_slot of x for the tile
  UpPhase up;
  DownPhase down;
  Scope edge_scope = Scope::kDsm;
  Collective edge_collective = Collective::kGather;
  Combine combine = Combine::kOrderedPartials;
  // Combine: how long a unit's owner lets the others arrive first; 0: whoever comes last adds.
  int combine_patience_cycles = 0;

  // Intermediate rows of a cluster, output rows of a CTA.
  int64_t chunk_rows() const { return int64_t{cluster_size} * up.rows_per_cta; }
  int64_t slice_rows() const { return int64_t{down.passes} * down.rows_per_pass; }
  int grid_ctas() const { return num_clusters * cluster_size; }
  int threads() const { return (consumer_warpgroups + 1) * 128; }

  std::string ToJson() const;  // one line, stable key order; parsed back by FromJson
  // Strict: every field, no other. The problem is checked; legality on a device is CheckLegal's.
  static absl::StatusOr<FusionPlan> FromJson(std::string_view json);
  Fingerprint PlanFingerprint() const;  // of ToJson and kPlanSpaceVersion
  // One line: "c8x15 t8 up96x64 down2x256x64 wg2 ring6/3+8 p50000 dsm_gather"
  std::string Summary() const;

  friend auto operator<=>(const FusionPlan&, const FusionPlan&) = default;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FUSION_PLAN_H_
