// The feed-forward block of one Llama-3.1-8B layer. False: run your own path.
#include <cstdio>

#include "fusebox/fusebox.hpp"

struct DecodeFfn {
  fusebox::api::Engine engine;
  fusebox::api::Op op;
  fusebox::api::Binding layer;

  // DECLINED and NOT_READY are answers; anything else is an error that somebody should read.
  static bool Ok(fusebox::api::Status status) {
    if (!status && status.code() != FUSEBOX_DECLINED && status.code() != FUSEBOX_NOT_READY)
      std::fprintf(stderr, "%s: %s\n", status.name(), fusebox::api::LastErrorMessage());
    return bool(status);
  }

  // bf16 on the device: gate_up [2 * 14336, 4096], down [4096, 14336]; kept until `layer` is gone.
  bool Start(const void* gate_up, const void* down) {
    auto desc = fusebox::api::FfnDesc();
    desc.hidden = 4096, desc.intermediate = 14336, desc.gated = 1;
    desc.dtype = FUSEBOX_DTYPE_BF16, desc.activation = FUSEBOX_ACTIVATION_SILU;
    auto weights = fusebox::api::FfnWeights();
    weights.gate_up = gate_up, weights.down = down;
    const int32_t batches[] = {1, 8, 16, 32};  // compiled now, or found in a cache
    return Ok(engine.Create()) && Ok(op.CreateFfn(engine, desc)) &&
           Ok(op.Prepare(batches, 4, FUSEBOX_PREPARE_BLOCK)) && Ok(layer.BindFfn(op, weights));
  }

  // Once for each stream, before its first Step; `bytes` as op.WorkspaceSize says.
  bool InitWorkspace(void* workspace, size_t bytes, CUstream_st* stream) const {
    return Ok(op.InitWorkspace(workspace, bytes, stream));
  }

  // `args`: tokens, x and y [tokens, 4096], and the workspace. Asynchronous on the stream; may be
  // captured in a CUDA graph.
  bool Step(const fusebox_ffn_args& args, CUstream_st* stream) const {
    return Ok(layer.LaunchFfn(args, stream));
  }
};
