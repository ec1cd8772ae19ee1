#include "runtime/tools/bench_timer.h"

#include <algorithm>
#include <cmath>

#include "runtime/tools/captured_graph.h"
#include "src/base/check.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int kWarmUpReplays = 3;

absl::StatusOr<UniqueEvent> MakeEvent(const GpuSession& session) {
  CUevent event = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().EventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
  return UniqueEvent(session.shared_api(), event);
}

}  // namespace

Timing TimingOf(std::vector<double> values) {
  FUSEBOX_CHECK(!values.empty(), "a timing needs a value");
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {.median = at(0.5), .p10 = at(0.1), .p90 = at(0.9)};
}

absl::StatusOr<Timing> TimeGraph(const GpuSession& session, int64_t launches, int replays,
                                 EnqueueLaunch enqueue) {
  const DriverApi& api = session.api();
  FUSEBOX_ASSIGN_OR_RETURN(
      const CapturedGraph graph,
      CapturedGraph::Capture(session, session.stream(), [&](CUstream stream) -> absl::Status {
        for (int64_t i = 0; i < launches; ++i) FUSEBOX_RETURN_IF_ERROR(enqueue(i, stream));
        return absl::OkStatus();
      }));
  FUSEBOX_ASSIGN_OR_RETURN(const UniqueEvent start, MakeEvent(session));
  FUSEBOX_ASSIGN_OR_RETURN(const UniqueEvent end, MakeEvent(session));
  std::vector<double> micros;
  for (int i = 0; i < kWarmUpReplays + replays; ++i) {
    FUSEBOX_RETURN_IF_ERROR(
        session.Check(api.EventRecord(start.get(), session.stream()), "cuEventRecord"));
    FUSEBOX_RETURN_IF_ERROR(graph.Replay(session.stream()));
    FUSEBOX_RETURN_IF_ERROR(
        session.Check(api.EventRecord(end.get(), session.stream()), "cuEventRecord"));
    FUSEBOX_RETURN_IF_ERROR(session.Synchronize());
    float milliseconds = 0;
    FUSEBOX_RETURN_IF_ERROR(session.Check(
        api.EventElapsedTime(&milliseconds, start.get(), end.get()), "cuEventElapsedTime"));
    if (i < kWarmUpReplays) continue;
    micros.push_back(static_cast<double>(milliseconds) * 1e3 / static_cast<double>(launches));
  }
  return TimingOf(std::move(micros));
}

}  // namespace fusebox
