#include "src/plan/ladder.h"

#include <algorithm>
#include <utility>

#include "src/base/status.h"

namespace fusebox {
namespace {

// What a lower rung may ask for, in quarters of the first rung's CTAs. Dies of one type differ by
// less than a quarter; MIG's larger slices have half of the SMs and a little less.
constexpr int kFewerQuarters = 3;
constexpr int kHalf = 2;
constexpr int kAll = 4;

// Without clusters beyond the portable size, and with at most `max_ctas` resident at once: what the
// candidates' partitions are made for.
DeviceSpec Narrowed(const DeviceSpec& device, int max_ctas) {
  DeviceSpec narrowed = device;
  for (ClusterCapacity& cluster : narrowed.clusters) {
    const int size = cluster.cluster_size;
    const int ctas = std::min(cluster.resident_ctas, max_ctas);
    cluster.resident_ctas = size > kPortableClusterSize ? 0 : ctas / size * size;
  }
  return narrowed;
}

// The sum's owner would wait out its patience for clusters that have not begun; and what meets at a
// grid barrier must all be there.
bool RunsInWaves(const FusionPlan& plan) {
  return !plan.gathers_over_grid() && plan.combine_patience_cycles == 0;
}

// The best plan of at most `quarters` of `first`'s CTAs; Declined when there is none.
absl::StatusOr<SearchReport> SearchBelow(const FusionPlan& first, const DeviceSpec& device,
                                         int quarters, Residency residency) {
  const int max_ctas = first.grid_ctas() * quarters / kAll;
  const auto admits = [=](const FusionPlan& plan) {
    return plan.grid_ctas() <= max_ctas && plan.cluster_size <= kPortableClusterSize &&
           (residency == Residency::kAllClusters || RunsInWaves(plan));
  };
  return Search(first.problem, first.token_tile, Narrowed(device, max_ctas),
                {.max_runners_up = 0, .admits = admits});
}

// Adds what was found; a rung less where nothing was.
absl::Status AddRung(absl::StatusOr<SearchReport> found, Residency residency,
                     std::vector<LadderRung>& ladder) {
  if (IsDeclined(found.status())) return absl::OkStatus();
  FUSEBOX_RETURN_IF_ERROR(found.status());
  ladder.push_back({.report = *std::move(found), .residency = residency});
  return absl::OkStatus();
}

}  // namespace

int ClustersNeeded(const FusionPlan& plan, Residency residency) {
  return residency == Residency::kAllClusters || plan.gathers_over_grid() ? plan.num_clusters : 1;
}

absl::StatusOr<std::vector<LadderRung>> BuildLadder(const FfnProblem& problem, int token_tile,
                                                    const DeviceSpec& device) {
  FUSEBOX_ASSIGN_OR_RETURN(SearchReport chosen, Search(problem, token_tile, device));
  const FusionPlan first = chosen.best.plan;
  std::vector<LadderRung> ladder;
  ladder.push_back({.report = std::move(chosen)});
  // Beyond the portable size it is mostly the cluster that does not fit.
  const int fewer = first.cluster_size > kPortableClusterSize ? kAll : kFewerQuarters;
  FUSEBOX_RETURN_IF_ERROR(AddRung(SearchBelow(first, device, fewer, Residency::kAllClusters),
                                  Residency::kAllClusters, ladder));
  // In waves fewer CTAs are better, as far as the dims allow it.
  for (const int quarters : {kHalf, kFewerQuarters, kAll}) {
    const size_t num_rungs = ladder.size();
    FUSEBOX_RETURN_IF_ERROR(AddRung(SearchBelow(first, device, quarters, Residency::kOneCluster),
                                    Residency::kOneCluster, ladder));
    if (ladder.size() > num_rungs) break;
  }
  return ladder;
}

}  // namespace fusebox
