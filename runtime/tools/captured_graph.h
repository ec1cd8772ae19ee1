// CapturedGraph is a stream's work, captured once and replayed. REQUIRES: the session, and whatever
// the work uses, outlive it.
#ifndef FUSEBOX_RUNTIME_TOOLS_CAPTURED_GRAPH_H_
#define FUSEBOX_RUNTIME_TOOLS_CAPTURED_GRAPH_H_

#include <cuda.h>

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/driver/handles.h"
#include "runtime/tools/gpu_session.h"

namespace fusebox {

class CapturedGraph {
 public:
  // Runs `enqueue` under capture in the strictest mode: what a server's capture forbids fails here.
  static absl::StatusOr<CapturedGraph> Capture(
      const GpuSession& session, CUstream stream,
      absl::FunctionRef<absl::Status(CUstream stream)> enqueue);

  absl::Status Replay(CUstream stream) const;  // asynchronous

 private:
  CapturedGraph(const GpuSession* session, UniqueGraph graph, UniqueGraphExec exec)
      : session_(session), graph_(std::move(graph)), exec_(std::move(exec)) {}

  const GpuSession* session_;
  UniqueGraph graph_;
  UniqueGraphExec exec_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_CAPTURED_GRAPH_H_
