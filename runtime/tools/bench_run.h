// BenchRun times ffn launches: replays of a graph in which the launches rotate over copies of the
// weights that together exceed L2, so that every launch streams its weights from memory.
// Neighbours "fusebox": launches follow each other with PDL. Neighbours "foreign": before each
// launch runs a small elementwise kernel over x that triggers nothing; its own time, measured in a
// graph of as many of them alone, is subtracted. REQUIRES: the session outlives it. Not
// thread-safe.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_RUN_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusebox/fusebox.hpp"
#include "runtime/tools/bench_report.h"
#include "runtime/tools/bench_timer.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/launch_buffers.h"
#include "runtime/tools/measure_kernels.h"
#include "runtime/tools/op_options.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {

enum class Neighbours { kFusebox = 0, kForeign = 1 };
std::string_view ToString(Neighbours neighbours);  // "fusebox", "foreign"

class BenchRun {
 public:
  struct Options {
    int replays = 30;
    std::vector<Neighbours> neighbours = {Neighbours::kFusebox};
  };

  BenchRun(GpuSession* session, const MeasureKernels* kernels, Options options)
      : session_(session), kernels_(kernels), options_(std::move(options)) {}

  // GB/s of a read-only stream: the floors' rate from then on.
  absl::StatusOr<double> MeasureReadBandwidth();

  // A row for each token count and neighbour, through the public API.
  std::vector<BenchRow> TimeOp(const api::Engine& engine, const OpToRun& op);
  // The same for a given plan, past the engine, at its whole token tile or `tokens`, by so many
  // replays.
  std::vector<BenchRow> TimePlan(const FusionPlan& plan, int64_t tokens, int replays);

 private:
  struct Layers;  // the weight copies of one problem
  absl::StatusOr<const Layers*> LayersOf(const FfnProblem& problem);
  absl::StatusOr<LaunchBuffers> MakeBuffers(const FfnProblem& problem, size_t workspace_bytes,
                                            int64_t tokens) const;
  // Fills in timing, by row.replays, and floor of `row` for each neighbour.
  void TimeNeighbours(const FfnProblem& problem, const LaunchBuffers& buffers, int64_t num_copies,
                      EnqueueLaunch enqueue, BenchRow row, std::vector<BenchRow>& rows) const;

  GpuSession* const session_;
  const MeasureKernels* const kernels_;
  const Options options_;
  double read_gb_per_s_ = 0;
  std::shared_ptr<const Layers> layers_;  // of the problem timed last
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_RUN_H_
