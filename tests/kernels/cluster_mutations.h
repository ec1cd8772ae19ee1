// Mutations of what CTAs of a cluster share beyond an edge: the sums of a k that they split, and
// the activation that each copies a part of for all.
#ifndef FUSEBOX_TESTS_KERNELS_CLUSTER_MUTATIONS_H_
#define FUSEBOX_TESTS_KERNELS_CLUSTER_MUTATIONS_H_

#include <vector>

#include "tests/kernels/mutations.h"

namespace fusebox {

std::vector<Mutation> ClusterMutations();

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_CLUSTER_MUTATIONS_H_
