#include "examples/decode_loop/decode_loop.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "examples/decode_loop/cuda.h"
#include "examples/decode_loop/fused_layers.h"
#include "examples/decode_loop/model.h"
#include "examples/decode_loop/own_path.h"

namespace example {
namespace {

// The batch sizes that the engine captures. 16 is served but not prepared, as if its kernel had not
// come in time: NOT_READY. 32 is more than the op was made for: DECLINED.
constexpr int32_t kBatches[] = {1, 8, 16, 32};
constexpr int32_t kPreparedBatches[] = {1, 8};
constexpr int32_t kMaxFusedBatch = 16;
constexpr int32_t kMaxBatch = 32;
constexpr uint32_t kNumSteps = 8;

size_t BytesOf(const std::vector<Bf16>& values) { return values.size() * sizeof(Bf16); }

// What the engine keeps on the device.
struct DeviceState {
  std::vector<fusebox_ffn_weights> weights;
  void* hidden[2];  // [kMaxBatch, kHidden]; layers read one and write the other
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

DeviceState MakeDeviceState(Cuda& cuda, const std::vector<Layer>& layers) {
  DeviceState state;
  const auto copy = [&cuda](const std::vector<Bf16>& matrix) {
    void* const device = cuda.AllocateDevice(BytesOf(matrix));
    cuda.Upload(device, matrix.data(), BytesOf(matrix));
    return device;
  };
  for (const Layer& layer : layers) {
    fusebox_ffn_weights& weights = state.weights.emplace_back(fusebox::api::FfnWeights());
    weights.gate_up = copy(layer.gate_up);
    weights.down = copy(layer.down);
  }
  for (void*& rows : state.hidden) rows = cuda.AllocateDevice(kMaxBatch * kHidden * sizeof(Bf16));
  return state;
}

// Whether anything may be fused; where not, the engine serves all the same.
bool StartFused(Cuda& cuda, DeviceState& state, FusedLayers& fused) {
  auto desc = fusebox::api::FfnDesc();
  desc.hidden = kHidden, desc.intermediate = kIntermediate, desc.gated = 1;
  desc.dtype = FUSEBOX_DTYPE_BF16, desc.activation = FUSEBOX_ACTIVATION_RELU;
  desc.max_tokens = kMaxFusedBatch;
  const std::vector<int32_t> batches(std::begin(kPreparedBatches), std::end(kPreparedBatches));
  if (!fused.Start(desc, state.weights, batches)) return false;
  if (!fused.Ok(fused.op.WorkspaceSize(kMaxFusedBatch, &state.workspace_bytes))) return false;
  state.workspace = cuda.AllocateDevice(state.workspace_bytes);
  return cuda.ok() &&
         fused.Ok(fused.op.InitWorkspace(state.workspace, state.workspace_bytes, cuda.stream()));
}

// A step's graph, and how many of its layers are fused.
struct StepGraph {
  CUgraphExec exec = nullptr;
  size_t num_fused = 0;
};

// One step of `tokens` sequences, captured. The answer for a layer is that of this batch size from
// now on, as the engine is frozen. Ranks of tensor parallelism agree first: they capture the fused
// path where fusebox_op_is_ready is 1 on all of them.
StepGraph CaptureStep(Cuda& cuda, const DeviceState& state, const FusedLayers& fused, OwnPath& own,
                      int32_t tokens) {
  StepGraph graph;
  cuda.BeginCapture();
  // README: begin
  for (size_t layer = 0; layer < kNumLayers; ++layer) {
    const void* const x = state.hidden[layer % 2];
    void* const y = state.hidden[(layer + 1) % 2];
    if (fused.Enqueue(layer, tokens, x, y, state.workspace, state.workspace_bytes, cuda.stream())) {
      ++graph.num_fused;
    } else {
      own.Enqueue(layer, tokens, x, y);  // nothing of this layer was enqueued
    }
  }
  // README: end
  graph.exec = cuda.EndCapture();
  return graph;
}

// Replays steps of changing batch size, each compared with the same on the CPU: how many were
// wrong.
int CountWrongSteps(Cuda& cuda, const DeviceState& state, const std::vector<Layer>& layers,
                    const std::vector<StepGraph>& graphs) {
  int num_wrong = 0;
  for (uint32_t step = 0; step < kNumSteps && cuda.ok(); ++step) {
    const size_t which = step % std::size(kBatches);
    const int32_t tokens = kBatches[which];
    const std::vector<Bf16> x = MakeActivations(tokens, step);
    std::vector<Bf16> y(x.size());
    cuda.Upload(state.hidden[0], x.data(), BytesOf(x));
    cuda.Replay(graphs[which].exec);
    cuda.Download(y.data(), state.hidden[kNumLayers % 2], BytesOf(y));
    cuda.Synchronize();

    std::vector<Bf16> in = x;
    std::vector<Bf16> expected(x.size());
    for (const Layer& layer : layers) {
      RunBlock(layer, tokens, in.data(), expected.data());
      std::swap(in, expected);
    }
    const size_t num_different = cuda.ok() ? CountDifferences(y, in) : 0;
    if (num_different == 0) continue;
    std::fprintf(stderr, "step %u, batch %d: %zu of %zu values are wrong\n", step, tokens,
                 num_different, y.size());
    ++num_wrong;
  }
  return num_wrong;
}

// What Fusebox counted; zeros where it did not start.
fusebox_engine_stats_values CountersOf(const FusedLayers& fused) {
  auto stats = fusebox::api::Sized<fusebox_engine_stats_values>();
  if (fused.engine) (void)fused.engine.Stats(&stats).code();
  std::printf("launches captured: %llu fused, %llu not ready, %llu declined, %llu failed\n",
              static_cast<unsigned long long>(stats.launches),
              static_cast<unsigned long long>(stats.launches_not_ready),
              static_cast<unsigned long long>(stats.launches_declined),
              static_cast<unsigned long long>(stats.launches_failed));
  return stats;
}

bool IsPrepared(int32_t tokens) {
  return std::find(std::begin(kPreparedBatches), std::end(kPreparedBatches), tokens) !=
         std::end(kPreparedBatches);
}

ExitCode Judge(const Cuda& cuda, const FusedLayers& fused, const std::vector<StepGraph>& graphs,
               int num_wrong) {
  if (!cuda.ok()) {
    std::fprintf(stderr, "failed: %s\n", cuda.failure().c_str());
    return kFailed;
  }
  if (CountersOf(fused).launches_failed > 0 || num_wrong > 0) return kFailed;
  std::printf("%u steps, all right\n", kNumSteps);
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i].num_fused == (IsPrepared(kBatches[i]) ? kNumLayers : 0)) continue;
    std::fprintf(stderr, "missing: batch %d ran %zu layers fused; above is what Fusebox said\n",
                 kBatches[i], graphs[i].num_fused);
    return kMissing;
  }
  return kDone;
}

}  // namespace

ExitCode RunDecodeLoop() {
  Cuda cuda;
  if (!cuda.Open()) {
    std::fprintf(stderr, "missing: %s\n", cuda.failure().c_str());
    return kMissing;
  }
  const std::vector<Layer> layers = MakeLayers();
  DeviceState state = MakeDeviceState(cuda, layers);
  OwnPath own(cuda, layers, kMaxBatch);
  FusedLayers fused;
  if (cuda.ok() && !StartFused(cuda, state, fused)) {
    std::fprintf(stderr, "Fusebox does not serve here; all layers run the engine's own path\n");
  }

  std::vector<StepGraph> graphs;
  for (int32_t tokens : kBatches) {
    graphs.push_back(CaptureStep(cuda, state, fused, own, tokens));
    std::printf("batch %2d: %zu of %zu layers fused\n", tokens, graphs.back().num_fused,
                kNumLayers);
  }
  const int num_wrong = CountWrongSteps(cuda, state, layers, graphs);
  return Judge(cuda, fused, graphs, num_wrong);
}

}  // namespace example
