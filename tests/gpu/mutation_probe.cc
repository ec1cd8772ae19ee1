#include "tests/gpu/mutation_probe.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/forced_kernel.h"
#include "src/base/status.h"
#include "tests/kernels/mutations.h"

namespace fusebox {
namespace {

struct Finding {
  int code = kProbeRight;
  std::string sentence;
};

// Two launches in a chain, x to y to z, on one workspace.
struct Chain {
  FfnParams first;
  FfnParams second;
};

class Probe {
 public:
  static absl::StatusOr<Probe> Make(GpuSession* session, MutatedOp op);
  absl::StatusOr<Finding> Run(const TemplateSet& templates);

 private:
  Probe(GpuSession* session, MeasureKernels kernels, FfnLayer layer, ForcedKernel plain,
        LaunchBuffers first, LaunchBuffers second)
      : session_(session),
        kernels_(std::move(kernels)),
        layer_(std::move(layer)),
        plain_(std::move(plain)),
        first_(std::move(first)),
        second_(std::move(second)) {}

  absl::StatusOr<Chain> ChainOf(const ForcedKernel& kernel) const;
  absl::Status Reset(uint32_t seed) const;
  absl::StatusOr<std::vector<uint16_t>> Outputs() const;
  absl::StatusOr<uint32_t> Report() const;
  // A whole tile, so that each CTA which copies a part of the activation has rows to copy.
  int64_t tokens() const { return plain_.plan().token_tile; }

  GpuSession* session_;
  MeasureKernels kernels_;
  FfnLayer layer_;
  ForcedKernel plain_;
  LaunchBuffers first_;
  LaunchBuffers second_;  // its x is first_'s y, its workspace is not used
};

absl::StatusOr<Probe> Probe::Make(GpuSession* session, MutatedOp op) {
  const FusionPlan plan = MutatedPlan(op);
  FUSEBOX_ASSIGN_OR_RETURN(MeasureKernels kernels, MeasureKernels::Load(*session));
  FUSEBOX_ASSIGN_OR_RETURN(FfnLayer layer, FfnLayer::Make(*session, kernels, plan.problem, 21));
  FUSEBOX_ASSIGN_OR_RETURN(ForcedKernel plain, ForcedKernel::Make(*session, plan));
  FUSEBOX_ASSIGN_OR_RETURN(LaunchBuffers first,
                           LaunchBuffers::Make(*session, plan.problem, plain.workspace_bytes()));
  FUSEBOX_ASSIGN_OR_RETURN(LaunchBuffers second,
                           LaunchBuffers::Make(*session, plan.problem, plain.workspace_bytes()));
  return Probe(session, std::move(kernels), std::move(layer), std::move(plain), std::move(first),
               std::move(second));
}

absl::StatusOr<Chain> Probe::ChainOf(const ForcedKernel& kernel) const {
  Chain chain;
  FfnOperandViews views = layer_.views();
  views.x = first_.x().View(tokens());
  views.residual = first_.residual().View(tokens());
  FUSEBOX_ASSIGN_OR_RETURN(chain.first, kernel.Params(views, first_));
  views.x = first_.y().View(tokens());
  views.residual = second_.residual().View(tokens());
  FUSEBOX_ASSIGN_OR_RETURN(chain.second, kernel.Params(views, second_));
  chain.second.workspace = chain.first.workspace;
  if (kernel.plan().problem.norm != Norm::kNone) chain.second.x = chain.first.x;  // its rows
  return chain;
}

// Fresh values, so that what an earlier run left in shared memory is wrong; poison elsewhere.
absl::Status Probe::Reset(uint32_t seed) const {
  FUSEBOX_RETURN_IF_ERROR(kernels_.FillUniform(first_.x().View(tokens()), kActivationLimit, seed));
  for (const LaunchBuffers* buffers : {&first_, &second_}) {
    FUSEBOX_RETURN_IF_ERROR(
        kernels_.FillUniform(buffers->residual().View(tokens()), kActivationLimit, seed + 1000));
    FUSEBOX_RETURN_IF_ERROR(buffers->y().Poison());
    FUSEBOX_RETURN_IF_ERROR(buffers->residual_out().Poison());
  }
  return first_.PoisonPartials();
}

absl::StatusOr<std::vector<uint16_t>> Probe::Outputs() const {
  const bool has_sums = plain_.plan().problem.residual_mode == ResidualMode::kAddBeforeNorm;
  std::vector<uint16_t> outputs;
  for (const LaunchBuffers* buffers : {&first_, &second_}) {
    for (const TokenMatrix* matrix : {&buffers->y(), &buffers->residual_out()}) {
      const bool is_written = matrix == &buffers->y() || has_sums;
      FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> rows,
                               matrix->TakeRows(is_written ? tokens() : 0));
      outputs.insert(outputs.end(), rows.begin(), rows.end());
    }
  }
  return outputs;
}

absl::StatusOr<uint32_t> Probe::Report() const {
  uint32_t word = 0;
  FUSEBOX_RETURN_IF_ERROR(first_.workspace().Download(&word, 0, sizeof(word)));
  return word;
}

absl::StatusOr<Finding> Probe::Run(const TemplateSet& templates) {
  int run = 0;
  for (const int seed : {1, 2, 3}) {
    FUSEBOX_ASSIGN_OR_RETURN(
        const ForcedKernel kernel,
        ForcedKernel::Make(*session_, plain_.plan(), {.bounded_spins = true, .jitter_seed = seed},
                           templates));
    FUSEBOX_ASSIGN_OR_RETURN(const Chain plain_chain, ChainOf(plain_));
    FUSEBOX_ASSIGN_OR_RETURN(const Chain chain, ChainOf(kernel));
    FUSEBOX_RETURN_IF_ERROR(first_.InitWorkspaceByHand());
    for (int i = 0; i < kMutationRuns / 3; ++i) {
      ++run;
      FUSEBOX_RETURN_IF_ERROR(Reset(static_cast<uint32_t>(run)));
      for (const FfnParams* params : {&plain_chain.first, &plain_chain.second}) {
        FUSEBOX_RETURN_IF_ERROR(
            plain_.Launch(*params, ProgrammaticOverlap::kForbidden, session_->stream()));
      }
      FUSEBOX_RETURN_IF_ERROR(session_->Synchronize());
      FUSEBOX_ASSIGN_OR_RETURN(const std::vector<uint16_t> expected, Outputs());
      FUSEBOX_RETURN_IF_ERROR(Reset(static_cast<uint32_t>(run)));
      for (const FfnParams* params : {&chain.first, &chain.second}) {
        const absl::Status launched =
            kernel.Launch(*params, ProgrammaticOverlap::kAllowed, session_->stream());
        if (!launched.ok()) return Finding{kProbeFault, std::string(launched.message())};
      }
      const absl::Status finished = session_->Synchronize();
      if (!finished.ok()) {
        return Finding{kProbeFault, absl::StrCat(finished.message(), " in run ", run)};
      }
      FUSEBOX_ASSIGN_OR_RETURN(const uint32_t report, Report());
      if (report != 0) {
        return Finding{kProbeReport, absl::StrCat("spin report, CTA ", report >> 8, " site ",
                                                  report & 0xff, ", in run ", run)};
      }
      const auto outputs = Outputs();
      if (!outputs.ok() || *outputs != expected) {
        return Finding{kProbeWrong, absl::StrCat("wrong result in run ", run)};
      }
    }
  }
  return Finding{kProbeRight, absl::StrCat("right in ", run, " runs")};
}

absl::StatusOr<Finding> RunProbe(const Mutation& mutation, ProbeEdits edits) {
  Config config = ReadConfig(Environment::OfProcess()).value();
  config.cache_dirs = {ProbeCacheFolder(getppid())};
  config.compile_mode = CompileMode::kBlock;
  config.decline_slower = false;
  FUSEBOX_ASSIGN_OR_RETURN(const std::unique_ptr<GpuSession> session, GpuSession::Open(config));
  FUSEBOX_ASSIGN_OR_RETURN(Probe probe, Probe::Make(session.get(), mutation.op));
  FUSEBOX_ASSIGN_OR_RETURN(const TemplateSet templates,
                           Edited(edits == ProbeEdits::kMutated ? RemovalAndProvocation(mutation)
                                                                : mutation.provocation));
  return probe.Run(templates);
}

}  // namespace

std::string ProbeCacheFolder(pid_t parent) {
  return (std::filesystem::temp_directory_path() / absl::StrCat("fusebox-mutation-", parent))
      .string();
}

int RunMutationProbe(std::string_view name, ProbeEdits edits) {
  const Mutation* const mutation = FindMutation(name);
  if (mutation == nullptr) return kProbeFailed;
  const absl::StatusOr<Finding> finding = RunProbe(*mutation, edits);
  const std::string sentence =
      finding.ok() ? finding->sentence : std::string(finding.status().message());
  std::printf("%s\n", sentence.c_str());
  std::fflush(stdout);
  // Not through destructors: after a fault they would wait for what never ends.
  _exit(finding.ok() ? finding->code : kProbeFailed);
}

}  // namespace fusebox
