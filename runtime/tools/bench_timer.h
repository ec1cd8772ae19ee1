// Timing of graph replays: what `fusebox bench` measures everything with.
// Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_TIMER_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_TIMER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/tools/gpu_session.h"

namespace fusebox {

struct Timing {  // us a launch
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

// Of all values; REQUIRES: at least one.
Timing TimingOf(std::vector<double> values);

// Enqueues the launch of that index on the stream.
using EnqueueLaunch = absl::FunctionRef<absl::Status(int64_t index, CUstream stream)>;

// Captures `launches` launches into one graph and replays it: three times unmeasured, then
// `replays` times between two events each. A replay's time over the launches in it is one value.
absl::StatusOr<Timing> TimeGraph(const GpuSession& session, int64_t launches, int replays,
                                 EnqueueLaunch enqueue);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_TIMER_H_
