#include "runtime/tools/warm_list.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fusebox {
namespace {

bool IsSame(const WarmPiece& piece, const std::string& name, const absl::StatusOr<TiledOp>& op) {
  if (piece.op.ok() != op.ok()) return false;
  return op.ok() ? *piece.op == *op : piece.name == name && piece.op.status() == op.status();
}

void Add(std::vector<WarmPiece>& pieces, const std::string& name, const absl::StatusOr<TiledOp>& op,
         WarmAsker asker) {
  auto found = std::find_if(pieces.begin(), pieces.end(),
                            [&](const WarmPiece& piece) { return IsSame(piece, name, op); });
  if (found == pieces.end())
    found = pieces.insert(pieces.end(), {.name = name, .op = op, .askers = {}});
  found->askers.push_back(std::move(asker));
}

}  // namespace

std::vector<WarmPiece> ListPieces(const std::vector<ModelRequest>& requests,
                                  const std::vector<ManifestRequest>& manifests) {
  std::vector<WarmPiece> pieces;
  for (const ModelRequest& request : requests) {
    if (!request.declined.ok()) {
      Add(pieces, "ffn", request.declined, {.model = request.model});
      continue;
    }
    for (const ModelOp& op : request.ops) {
      Add(pieces, op.name, op.op,
          {.model = request.model,
           .roles = op.roles,
           .tensor_parallel = op.tensor_parallel,
           .tokens = op.tokens});
    }
  }
  for (const ManifestRequest& manifest : manifests) {
    for (const ManifestEntry& entry : manifest.entries) {
      Add(pieces, entry.op.problem.Name(), entry.op,
          {.model = manifest.file, .tensor_parallel = 0, .tokens = {entry.op.token_tile}});
    }
  }
  return pieces;
}

std::vector<WarmPiece> PiecesOfPlans(const std::string& file, const std::vector<GivenPlan>& plans) {
  std::vector<WarmPiece> pieces;
  std::set<FusionPlan> listed;
  for (const GivenPlan& given : plans) {
    const FusionPlan& plan = given.plan;
    if (!listed.insert(plan).second) continue;
    pieces.push_back(
        {.name = plan.problem.Name(),
         .op = TiledOp{.problem = plan.problem, .token_tile = plan.token_tile},
         .askers = {{.model = file, .tensor_parallel = 0, .tokens = {plan.token_tile}}},
         .plan = plan});
  }
  return pieces;
}

}  // namespace fusebox
