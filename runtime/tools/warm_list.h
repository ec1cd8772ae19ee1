// WarmList is what `fusebox warm` has to do: each kernel once, with everyone who asked for it.
// Invariant: equal (op, tile) pairs are one piece, in the order in which they were first asked for;
// given plans follow, each once.
// A value; no threads.
#ifndef FUSEBOX_RUNTIME_TOOLS_WARM_LIST_H_
#define FUSEBOX_RUNTIME_TOOLS_WARM_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/plan_file.h"
#include "runtime/tools/warm_manifest.h"
#include "src/model/model_ops.h"

namespace fusebox {

struct WarmAsker {
  std::string model;            // or the manifest's or the plan's file
  std::vector<FfnRole> roles;   // of the model's blocks that are this op
  int64_t tensor_parallel = 1;  // 0: recorded or given, so it is not known
  std::vector<int64_t> tokens;
};

struct WarmPiece {
  std::string name;
  absl::StatusOr<TiledOp> op;  // or Declined
  std::vector<WarmAsker> askers;
  std::optional<FusionPlan> plan;  // this one, and no ladder; empty: the planner's
};

std::vector<WarmPiece> ListPieces(const std::vector<ModelRequest>& requests,
                                  const std::vector<ManifestRequest>& manifests);

// A piece for each plan, all asked for by `file`.
std::vector<WarmPiece> PiecesOfPlans(const std::string& file, const std::vector<GivenPlan>& plans);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_WARM_LIST_H_
