// The feed-forward blocks of a model's layers, fused. False: run your own path.
#pragma once

#include <cstdio>
#include <vector>

#include "fusebox/fusebox.hpp"

struct FusedLayers {
  fusebox::api::Engine engine;
  fusebox::api::Op op;
  std::vector<fusebox::api::Binding> layers;

  // DECLINED and NOT_READY are answers; anything else is an error that somebody should read.
  static bool Ok(fusebox::api::Status status) {
    if (!status && status.code() != FUSEBOX_DECLINED && status.code() != FUSEBOX_NOT_READY)
      std::fprintf(stderr, "%s: %s\n", status.name(), fusebox::api::LastErrorMessage());
    return bool(status);
  }

  // Once, at start. The weights lie on the device and stay as they are while `layers` is there.
  bool Start(const fusebox_ffn_desc& desc, const std::vector<fusebox_ffn_weights>& weights,
             const std::vector<int32_t>& batches) {
    if (!Ok(engine.Create()) || !Ok(op.CreateFfn(engine, desc))) return false;
    // Compiled now, or found in a cache; what is not there is NOT_READY when it is launched.
    (void)Ok(op.Prepare(batches.data(), batches.size(), FUSEBOX_PREPARE_BLOCK));
    if (!Ok(engine.Freeze())) return false;  // a batch size is answered alike from here on
    for (const fusebox_ffn_weights& layer : weights) {
      if (Ok(layers.emplace_back().BindFfn(op, layer))) continue;
      layers.clear();
      return false;
    }
    return true;
  }

  // x and y [tokens, hidden]. Asynchronous; may be captured in a CUDA graph. The workspace is the
  // stream's: op.WorkspaceSize says how much, op.InitWorkspace fills it once.
  bool Enqueue(size_t layer, int32_t tokens, const void* x, void* y, void* workspace,
               size_t workspace_bytes, CUstream_st* stream) const {
    auto args = fusebox::api::FfnArgs();
    args.tokens = tokens, args.x = x, args.y = y;
    args.workspace = workspace, args.workspace_bytes = workspace_bytes;
    return layer < layers.size() && Ok(layers[layer].LaunchFfn(args, stream));
  }
};
