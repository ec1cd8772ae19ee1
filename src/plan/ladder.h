// Ladder lists the plans that are tried on a GPU, in order, until one fits it: the search's choice;
// the best plan that asks for clearly fewer CTAs at once, in portable clusters; and last the best
// one that asks for no more than one portable cluster at a time. Profiles promise what most GPUs of
// a type hold; dies differ, and a MIG slice holds less.
// Invariant: a pure function of (problem, token tile, device), so that all ranks of a server and a
// build machine list the same plans; every plan is legal on the device, and each rung asks for less
// than the one before it. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_LADDER_H_
#define FUSEBOX_SRC_PLAN_LADDER_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "src/device/device_spec.h"
#include "src/plan/search.h"

namespace fusebox {

constexpr size_t kMaxRungs = 3;
constexpr int kPortableClusterSize = 8;  // CUDA C++ Programming Guide, thread block clusters

// How many of a kernel's clusters the GPU must hold at once for the plan to be used.
enum class Residency {
  kAllClusters,  // as planned, none waits for an SM
  kOneCluster    // the others may follow in waves: slower, and as right, as no cluster waits for
                 // another without bound; never of a plan that gathers over the grid
};
constexpr size_t kNumResidencies = 2;

struct LadderRung {
  SearchReport report;  // of the search that chose it; runners-up only in the first rung's
  Residency residency = Residency::kAllClusters;
};

// At least one rung, at most kMaxRungs. Declined when no plan serves the problem on this device.
absl::StatusOr<std::vector<LadderRung>> BuildLadder(const FfnProblem& problem, int token_tile,
                                                    const DeviceSpec& device);

// Clusters that must be resident at once.
int ClustersNeeded(const FusionPlan& plan, Residency residency);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_LADDER_H_
