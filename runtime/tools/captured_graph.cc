#include "runtime/tools/captured_graph.h"

#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<CapturedGraph> CapturedGraph::Capture(
    const GpuSession& session, CUstream stream,
    absl::FunctionRef<absl::Status(CUstream stream)> enqueue) {
  const DriverApi& api = session.api();
  FUSEBOX_RETURN_IF_ERROR(session.Check(
      api.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture"));
  const absl::Status enqueued = enqueue(stream);
  CUgraph raw_graph = nullptr;
  const absl::Status ended =
      session.Check(api.StreamEndCapture(stream, &raw_graph), "cuStreamEndCapture");
  UniqueGraph graph(session.shared_api(), raw_graph);
  FUSEBOX_RETURN_IF_ERROR(enqueued);
  FUSEBOX_RETURN_IF_ERROR(ended);
  CUgraphExec raw_exec = nullptr;
  FUSEBOX_RETURN_IF_ERROR(session.Check(api.GraphInstantiateWithFlags(&raw_exec, raw_graph, 0),
                                        "cuGraphInstantiateWithFlags"));
  UniqueGraphExec exec(session.shared_api(), raw_exec);
  return CapturedGraph(&session, std::move(graph), std::move(exec));
}

absl::Status CapturedGraph::Replay(CUstream stream) const {
  return session_->Check(session_->api().GraphLaunch(exec_.get(), stream), "cuGraphLaunch");
}

}  // namespace fusebox
