// Legality: the named rules that a plan must keep on a device. Each has a condition and a sentence
// that says what was asked, what the limit is and what would help. Invariant: a plan that keeps
// every rule is one that the kernel runs correctly and without spilling. Pure functions.
#ifndef FUSEBOX_SRC_PLAN_LEGALITY_H_
#define FUSEBOX_SRC_PLAN_LEGALITY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "src/device/device_spec.h"
#include "src/plan/footprint.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

// CUDA driver API, cuTensorMapEncodeTiled: a box dimension is at most 256.
constexpr int kMaxBoxRows = 256;
constexpr int kMinRingSlots = 3;  // one read by the tensor cores, one waited for, one being filled
constexpr int kMinActivationSlots = 3;  // likewise; with 2, plans took up to 1.5 times as long

// What the rules look at. The footprint is computed only after the rules on single fields hold.
struct PlanFacts {
  const FusionPlan& plan;
  const DeviceSpec& device;
  const ClusterCapacity* cluster = nullptr;  // nullptr when the device has no clusters of this size
  Footprint footprint;
};

struct LegalityRule {
  std::string_view name;
  bool (*holds)(const PlanFacts& facts);
  std::string (*sentence)(const PlanFacts& facts);
};

// All rules, in the order in which they are checked.
absl::Span<const LegalityRule> LegalityRules();

// The first rule that `plan` breaks, or nullptr. Builds no text, so that a search can ask often.
const LegalityRule* FirstBrokenRule(const FusionPlan& plan, const DeviceSpec& device);

// "cluster_fits: ..." without the name. REQUIRES: `rule` is what FirstBrokenRule returned for
// these.
std::string Explain(const LegalityRule& rule, const FusionPlan& plan, const DeviceSpec& device);

// OK, or Declined with the first broken rule and its sentence.
absl::Status CheckLegal(const FusionPlan& plan, const DeviceSpec& device);

// CTAs that may be resident at once for this plan; 0 when the device has no clusters of its size.
int ResidentCtas(const FusionPlan& plan, const DeviceSpec& device);

// Registers that ptxas may give each thread (launch bounds: a CTA on an SM), and what the plan
// needs.
int RegisterBudget(const FusionPlan& plan, const DeviceSpec& device);
int RegistersNeeded(const FusionPlan& plan, const DeviceSpec& device);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_PLAN_LEGALITY_H_
