// Plans that differ in every field that a kernel's text depends on: fixed by hand, so that a change
// of the search does not change what is tested here. All are legal on an H200.
#ifndef FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_
#define FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_

#include <string>
#include <vector>

#include "src/plan/fusion_plan.h"

namespace fusebox {

struct SamplePlan {
  std::string name;
  FusionPlan plan;
};

std::vector<SamplePlan> SamplePlans();

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_SOURCE_SAMPLE_PLANS_H_
