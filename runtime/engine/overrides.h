// PlanOverrides are what a person put in the place of what ships: plans for given ops, and device
// code. Read when an engine is made or a command begins, and never again. Invariant: templates are
// complete, and what host and device both include is what this library was built with. A value; no
// threads.
#ifndef FUSEBOX_RUNTIME_ENGINE_OVERRIDES_H_
#define FUSEBOX_RUNTIME_ENGINE_OVERRIDES_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/config/config.h"
#include "src/plan/forced_plans.h"
#include "src/plan/fusion_pays.h"
#include "src/source/template_set.h"

namespace fusebox {

struct PlanOverrides {
  ForcedPlans plans;
  TemplateSet templates = TemplateSet::Embedded();
  SlowerPlans slower = SlowerPlans::kDecline;
};

// FUSEBOX_FORCE_PLAN, FUSEBOX_TEMPLATE_DIR and FUSEBOX_DECLINE_SLOWER. InvalidArgument, with the
// knob's name, for a plan file or a folder that cannot be read, and for what they hold.
absl::StatusOr<PlanOverrides> ReadOverrides(const Config& config);

// The device code below `folder`, by the path that includes spell: the files with the suffixes of
// the embedded ones. NotFound where the folder cannot be read.
absl::StatusOr<TemplateSet> ReadTemplateTree(const std::string& folder);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_OVERRIDES_H_
