// The rules of legality on single fields of a plan and on sums of them. They need no footprint,
// whose computation divides by some of the fields that they look at. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_FIELD_RULES_H_
#define FUSEBOX_SRC_PLAN_FIELD_RULES_H_

#include "absl/types/span.h"
#include "src/plan/legality.h"

namespace fusebox {

// In the order in which they are checked; they come before all other rules.
absl::Span<const LegalityRule> FieldRules();

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_FIELD_RULES_H_
