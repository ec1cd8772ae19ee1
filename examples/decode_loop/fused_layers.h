// The feed-forward blocks of a model's layers on one GPU. False: run your own path.
#include <cstdio>
#include <vector>

#include "fusebox/fusebox.hpp"

class FusedLayers {
 public:
  // Once, at start. Weights are bf16 on the device and stay as they are until this object is gone.
  bool Start(const fusebox_ffn_desc& desc, const std::vector<fusebox_ffn_weights>& weights,
             const std::vector<int32_t>& batches) {
    if (!Ok(engine_.Create()) || !Ok(op_.CreateFfn(engine_, desc))) return false;
    // Compiled now, or found in a cache; what is not there is NOT_READY when it is launched.
    (void)Ok(op_.Prepare(batches.data(), batches.size(), FUSEBOX_PREPARE_BLOCK));
    if (!Ok(engine_.Freeze())) return false;  // a batch is answered alike from here on
    for (const fusebox_ffn_weights& layer : weights) {
      if (Ok(layers_.emplace_back().BindFfn(op_, layer))) continue;
      layers_.clear();
      return false;
    }
    return true;
  }

  // Once for each stream, before its first Enqueue; `bytes` of device memory, 256-byte aligned.
  bool WorkspaceSize(size_t* bytes) const { return Ok(op_.WorkspaceSize(0, bytes)); }
  bool InitWorkspace(void* workspace, size_t bytes, CUstream_st* stream) const {
    return Ok(op_.InitWorkspace(workspace, bytes, stream));
  }

  // x and y [tokens, hidden]. Asynchronous; may be captured in a CUDA graph.
  bool Enqueue(size_t layer, int32_t tokens, const void* x, void* y, void* workspace,
               size_t workspace_bytes, CUstream_st* stream) const {
    auto args = fusebox::api::FfnArgs();
    args.tokens = tokens, args.x = x, args.y = y;
    args.workspace = workspace, args.workspace_bytes = workspace_bytes;
    return layer < layers_.size() && Ok(layers_[layer].LaunchFfn(args, stream));
  }

  const fusebox::api::Engine& engine() const { return engine_; }

 private:
  // DECLINED and NOT_READY are answers; anything else is an error that somebody should read.
  static bool Ok(fusebox::api::Status status) {
    if (!status && status.code() != FUSEBOX_DECLINED && status.code() != FUSEBOX_NOT_READY)
      std::fprintf(stderr, "%s: %s\n", status.name(), fusebox::api::LastErrorMessage());
    return bool(status);
  }

  fusebox::api::Engine engine_;
  fusebox::api::Op op_;
  std::vector<fusebox::api::Binding> layers_;
};
