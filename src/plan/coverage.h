// Coverage: a symbolic check that a plan computes the whole op and nothing twice, for real
// dimensions. Counts the work list: every weight element is multiplied exactly once (for all tokens
// of the tile), with the row of h or column of x that belongs to it; every row of h is made once;
// every output is written exactly once; no slot holds more than a ring slot's bytes. Pure
// functions.
#ifndef FUSEBOX_SRC_PLAN_COVERAGE_H_
#define FUSEBOX_SRC_PLAN_COVERAGE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "src/plan/fusion_plan.h"
#include "src/plan/work_list.h"

namespace fusebox {

// Internal, naming the first element that is missed or used twice. REQUIRES: the field rules hold.
absl::Status CheckCoverage(const FusionPlan& plan);

// The same for a given work list, so that a test can break one.
absl::Status CheckCoverage(const FusionPlan& plan,
                           absl::FunctionRef<CtaWork(CtaPlace place)> work_of);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_COVERAGE_H_
