// Mutations: ordinary templates with one barrier, wait or fence taken out, or another index in one
// place. What is taken out must be missed, or no test would notice its loss: at run time as a wrong
// result, a bounded-spin report, a fault or a hang (tests/gpu/mutation_test.cc), or as a check on
// the generated PTX that fails (tests/kernels/mutation_text_test.cc) where hardware forgives the
// loss on most runs.
//
// A mutation at run time comes with a provocation: sleeps that make the other side late. A control
// run with the provocation alone must stay right, so that what shows is the removal.
#ifndef FUSEBOX_TESTS_KERNELS_MUTATIONS_H_
#define FUSEBOX_TESTS_KERNELS_MUTATIONS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/plan/fusion_plan.h"
#include "src/source/template_set.h"

namespace fusebox {

struct TemplateEdit {
  std::string_view path;
  std::string_view from;  // occurs exactly once in the file
  std::string_view to;
};

enum class Symptom {
  kRunTime,  // within kMutationRuns runs
  kText,     // in the PTX; it may show at run time too
};

enum class MutatedOp {
  kBare,
  kNormed,  // RMSNorm of x + residual before the block
  kGrid,  // grid gather: phase 1 in two passes, k split between warpgroups, rings as deep as a pass
  kGridRows,     // grid gather: rows dealt to two warpgroups
  kSplit,        // grid gather: k of phase 2 split in two, activations multicast in both phases
  kSplitTokens,  // grid gather: k of phase 2 split in four, tokens in wgmma's rows
};
inline constexpr std::array kMutatedOps = {MutatedOp::kBare,  MutatedOp::kNormed,
                                           MutatedOp::kGrid,  MutatedOp::kGridRows,
                                           MutatedOp::kSplit, MutatedOp::kSplitTokens};

struct Mutation {
  std::string_view name;
  std::string_view removed;  // and what must happen then
  Symptom symptom;
  MutatedOp op = MutatedOp::kBare;
  std::vector<TemplateEdit> removal;
  std::vector<TemplateEdit> provocation;
};

constexpr int kMutationRuns = 60;  // of two launches each, over three jitter seeds

const std::vector<Mutation>& Mutations();
const Mutation* FindMutation(std::string_view name);  // nullptr for an unknown one

// The embedded templates after these edits, in turn.
absl::StatusOr<TemplateSet> Edited(const std::vector<TemplateEdit>& edits);
std::vector<TemplateEdit> RemovalAndProvocation(const Mutation& mutation);

// Legal plans on which every mutated piece is at work. Dsm gather: clusters of 4, several clusters,
// k split between warpgroups, both rings shorter than the streams through them, two passes.
FusionPlan MutatedPlan(MutatedOp op);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_KERNELS_MUTATIONS_H_
