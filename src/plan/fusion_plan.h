// FusionPlan is everything that decides one FFN kernel: how each phase is dealt to CTAs, the ring,
// the edge, the combine. In both dataflows a CTA makes a slice of h, up.rows_per_cta() intermediate
// rows over all of hidden, and down.rows_per_cta() output rows; tails are TMA zero fill: uniform
// work, no edge cases; results are bitwise repeatable.
//
// Dataflow "dsm gather", combine "ordered partials": a cluster owns a contiguous chunk of
// intermediate rows. Phase 1 (up): each CTA makes its slice of the chunk. Edge: the slice is pushed
// to every peer's shared memory, so that each CTA holds the cluster's chunk of h. Phase 2 (down):
// each CTA multiplies the chunk with the rows that its rank has; so every cluster has a partial sum
// of all outputs; they are written to L2 and summed in cluster order by many CTAs.
//
// Dataflow "grid gather": the slices of all CTAs of the grid meet in L2, behind a grid barrier, and
// are streamed from there like x. Phase 2, combine "none": each CTA multiplies all of h with rows
// that nobody else has. Combine "dsm reduce_scatter": down.k_ctas CTAs of a cluster, neighbours in
// rank, have the same rows and an equal part of h each; their sums meet in shared memory, where
// each finishes an equal part of the outputs. All CTAs must be resident at once.
//
// Activation multicast: what several CTAs of a cluster multiply alike, x in phase 1 and h in phase
// 2, each copies an equal part of, to the shared memory of all.
//
// In FlashFuser's words: cls_m = cls_k = 1; cls_n = cluster_size (phase 1) and cls_l = cluster_size
// (phase 2) with dsm gather; with grid gather both 1, and cls_k of phase 2 is down.k_ctas.
// Invariant: a plan returned by Search is legal (src/plan/legality.h). A value; no threads.
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
constexpr int kPlanSpaceVersion = 5;
constexpr int kBoxK = 64;  // elements: 128 bytes, inner width of every TMA box and the swizzle's
constexpr int kRowGranule = 8;  // rows: a swizzle atom, and a core matrix of wgmma
constexpr int kWgmmaRows = 64;  // rows of one wgmma's M operand
constexpr int kWgmmaK = 16;     // k elements of one wgmma
constexpr int kMaxWgmmaColumns = 256;

// Which operand has the 64 rows of a wgmma; the other one's lines are its columns, any multiple
// of 8.
enum class MmaRows : int32_t { kWeights = 0, kTokens = 1 };
enum class Scope : int32_t { kSmem = 1, kDsm = 2, kGrid = 3 };
enum class Collective : int32_t { kGather = 1 };
enum class Combine : int32_t { kNone = 0, kOrderedPartials = 1, kDsmReduceScatter = 2 };

std::string_view ToString(MmaRows rows);           // "weights", "tokens"
std::string_view ToString(Scope scope);            // "smem", "dsm", "grid"
std::string_view ToString(Collective collective);  // "gather"
std::string_view ToString(Combine combine);        // "none", "ordered_partials", ...

// How one CTA works through a phase's matrix. Rows are outputs of the matrix: intermediate rows in
// phase 1 (of gate and up each), output rows in phase 2.
struct PhasePartition {
  int rows_per_pass = 0;  // multiple of 8 (layout in_out: 64), <= 256
  int passes = 1;         // over all of k each, one after the other
  int k_per_slot = 0;     // k elements of one ring slot; multiple of 64
  int k_warpgroups = 1;   // warpgroups that split a slot's k16 steps; their sums are added in order
  int k_ctas = 1;         // CTAs of a cluster that split k; their sums are added in order

  int64_t rows_per_cta() const { return int64_t{passes} * rows_per_pass; }
  friend auto operator<=>(const PhasePartition&, const PhasePartition&) = default;
};

struct FusionPlan {
  FfnProblem problem;
  int token_tile = 8;           // the true token count is a run-time argument <= it
  int cluster_size = 1;         // CTAs of a cluster
  int num_clusters = 1;         // grid = num_clusters * cluster_size CTAs, resident at once
  int consumer_warpgroups = 2;  // plus one producer warpgroup
  MmaRows mma_rows = MmaRows::kWeights;
  int ring_slots = 0;        // weight ring; bytes of a slot: Footprint::slot_bytes
  int slots_in_flight = 0;   // weight slots issued and not yet landed, at most; <= ring_slots
  int activation_slots = 0;  // activation ring; a slot holds a phase's k_per_slot for the tile
  PhasePartition up;         // phase 1
  PhasePartition down;       // phase 2
  Scope edge_scope = Scope::kDsm;
  Collective edge_collective = Collective::kGather;
  Combine combine = Combine::kOrderedPartials;
  bool activation_multicast = false;  // over the CTAs of a cluster that share the activation
  // Combine: how long a unit's owner lets the others arrive first; 0: whoever comes last adds.
  int combine_patience_cycles = 0;

  // h crosses the grid through L2; else it stays in the cluster.
  bool gathers_over_grid() const { return edge_scope == Scope::kGrid; }
  // Intermediate rows that the CTAs of a cluster make.
  int64_t chunk_rows() const { return cluster_size * up.rows_per_cta(); }
  // Elements of h that one CTA multiplies in phase 2, before whole slots are made of them.
  int64_t down_k() const {
    return gathers_over_grid() ? CeilDiv(problem.intermediate.value(), down.k_ctas) : chunk_rows();
  }
  // Grid gather: h that each of the k_ctas multiplies, the last of them less where h ends.
  int64_t down_k_part() const { return RoundUp(down_k(), down.k_per_slot); }
  int grid_ctas() const { return num_clusters * cluster_size; }
  int threads() const { return (consumer_warpgroups + 1) * 128; }

  std::string ToJson() const;  // one line, stable key order; parsed back by FromJson
  // Strict: every field, no other. The problem is checked; legality on a device is CheckLegal's.
  static absl::StatusOr<FusionPlan> FromJson(std::string_view json);
  Fingerprint PlanFingerprint() const;  // of ToJson and kPlanSpaceVersion
  // One line: "c8x15 t8 up1x96x64 down2x256x64 wg2 ring6/3+8 p50000 dsm_gather"
  std::string Summary() const;

  friend auto operator<=>(const FusionPlan&, const FusionPlan&) = default;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FUSION_PLAN_H_
