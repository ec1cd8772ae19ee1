#include "src/plan/fusion_plan.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/strict_json.h"
#include "src/shape/problem_json.h"

namespace fusebox {
namespace {

template <typename Enum>
using Choices = std::span<const std::pair<std::string_view, Enum>>;

template <typename Enum, size_t kSize>
constexpr auto NamesOf(const std::array<Enum, kSize>& values) {
  std::array<std::pair<std::string_view, Enum>, kSize> names;
  for (size_t i = 0; i < kSize; ++i) names[i] = {ToString(values[i]), values[i]};
  return names;
}

template <typename Enum, size_t kSize>
Enum ReadEnum(StrictJson& json, std::string_view path, const std::array<Enum, kSize>& values) {
  const auto names = NamesOf(values);
  return json.Choice<Enum>(path, Choices<Enum>(names));
}

// Bounds wide enough for any plan and small enough that no byte count of footprint.h leaves int64;
// which values are legal is for the rules to say.
int ReadCount(StrictJson& json, std::string_view path, int64_t max) {
  return static_cast<int>(json.Integer(path, 1, max));
}

PhasePartition ReadPhase(StrictJson& json, std::string_view path) {
  const auto read = [&](std::string_view field, int64_t max) {
    return ReadCount(json, absl::StrCat(path, ".", field), max);
  };
  return {.rows_per_pass = read("rows_per_pass", 4096),
          .passes = read("passes", 131072),
          .k_per_slot = read("k_per_slot", 4096),
          .k_warpgroups = read("k_warpgroups", 16),
          .k_ctas = read("k_ctas", 64)};
}

nlohmann::ordered_json PhaseToJson(const PhasePartition& phase) {
  return {{"rows_per_pass", phase.rows_per_pass},
          {"passes", phase.passes},
          {"k_per_slot", phase.k_per_slot},
          {"k_warpgroups", phase.k_warpgroups},
          {"k_ctas", phase.k_ctas}};
}

std::string PhaseSummary(const PhasePartition& phase) {
  return absl::StrCat(phase.passes, "x", phase.rows_per_pass, "x", phase.k_per_slot,
                      phase.k_warpgroups > 1 ? absl::StrCat("/", phase.k_warpgroups) : "",
                      phase.k_ctas > 1 ? absl::StrCat("/c", phase.k_ctas) : "");
}

}  // namespace

std::string FusionPlan::ToJson() const {
  const nlohmann::ordered_json json = {
      {"problem", ProblemToJson(problem)},
      {"token_tile", token_tile},
      {"cluster_size", cluster_size},
      {"num_clusters", num_clusters},
      {"consumer_warpgroups", consumer_warpgroups},
      {"mma_rows", ToString(mma_rows)},
      {"ring_slots", ring_slots},
      {"slots_in_flight", slots_in_flight},
      {"activation_slots", activation_slots},
      {"up", PhaseToJson(up)},
      {"down", PhaseToJson(down)},
      {"edge", {{"scope", ToString(edge_scope)}, {"collective", ToString(edge_collective)}}},
      {"combine", ToString(combine)},
      {"combine_patience_cycles", combine_patience_cycles},
      {"activation_multicast", activation_multicast ? 1 : 0}};
  return json.dump();
}

absl::StatusOr<FusionPlan> FusionPlan::FromJson(std::string_view text) {
  FUSEBOX_ASSIGN_OR_RETURN(StrictJson json, StrictJson::Parse(text, "plan"));
  FusionPlan plan{
      .problem = ReadProblem(json, "problem"),
      .token_tile = ReadCount(json, "token_tile", 256),
      .cluster_size = ReadCount(json, "cluster_size", 64),
      .num_clusters = ReadCount(json, "num_clusters", 4096),
      .consumer_warpgroups = ReadCount(json, "consumer_warpgroups", 16),
      .mma_rows = ReadEnum(json, "mma_rows", std::array{MmaRows::kWeights, MmaRows::kTokens}),
      .ring_slots = ReadCount(json, "ring_slots", 4096),
      .slots_in_flight = ReadCount(json, "slots_in_flight", 4096),
      .activation_slots = ReadCount(json, "activation_slots", 4096),
      .up = ReadPhase(json, "up"),
      .down = ReadPhase(json, "down"),
      .edge_scope =
          ReadEnum(json, "edge.scope", std::array{Scope::kSmem, Scope::kDsm, Scope::kGrid}),
      .edge_collective = ReadEnum(json, "edge.collective", std::array{Collective::kGather}),
      .combine = ReadEnum(
          json, "combine",
          std::array{Combine::kNone, Combine::kOrderedPartials, Combine::kDsmReduceScatter}),
      .activation_multicast = json.Integer("activation_multicast", 0, 1) == 1,
      .combine_patience_cycles =
          static_cast<int>(json.Integer("combine_patience_cycles", 0, 1'000'000))};
  FUSEBOX_RETURN_IF_ERROR(json.Finish());
  FUSEBOX_ASSIGN_OR_RETURN(plan.problem, FfnProblem::Create(plan.problem));
  return plan;
}

Fingerprint FusionPlan::PlanFingerprint() const {
  return Fingerprinter()
      .Add("plan_space_version", absl::StrCat(kPlanSpaceVersion))
      .Add("plan", ToJson())
      .Finish();
}

std::string FusionPlan::Summary() const {
  return absl::StrCat(
      "c", cluster_size, "x", num_clusters, " t", token_tile, " up", PhaseSummary(up), " down",
      PhaseSummary(down), " wg", consumer_warpgroups, " ring", ring_slots, "/", slots_in_flight,
      "+", activation_slots,
      combine_patience_cycles > 0 ? absl::StrCat(" p", combine_patience_cycles) : "",
      mma_rows == MmaRows::kTokens ? " token_rows" : "", activation_multicast ? " multicast " : " ",
      ToString(edge_scope), "_", ToString(edge_collective));
}

std::string_view ToString(MmaRows rows) { return rows == MmaRows::kWeights ? "weights" : "tokens"; }

std::string_view ToString(Scope scope) {
  switch (scope) {
    case Scope::kSmem:
      return "smem";
    case Scope::kDsm:
      return "dsm";
    case Scope::kGrid:
      return "grid";
  }
  return "unknown";
}

std::string_view ToString(Collective collective) {
  switch (collective) {
    case Collective::kGather:
      return "gather";
  }
  return "unknown";
}

std::string_view ToString(Combine combine) {
  switch (combine) {
    case Combine::kNone:
      return "none";
    case Combine::kOrderedPartials:
      return "ordered_partials";
    case Combine::kDsmReduceScatter:
      return "dsm_reduce_scatter";
  }
  return "unknown";
}

}  // namespace fusebox
