// OwnPath is the engine's own way to run a block, for when it is not fused. An engine's is its
// GEMMs; this one computes on the CPU, in a host function on the stream, so that the example needs
// no kernels of its own. It can be captured like any other work.
#ifndef FUSEBOX_EXAMPLES_DECODE_LOOP_OWN_PATH_H_
#define FUSEBOX_EXAMPLES_DECODE_LOOP_OWN_PATH_H_

#include <deque>
#include <vector>

#include "examples/decode_loop/cuda.h"
#include "examples/decode_loop/model.h"

namespace example {

class OwnPath {
 public:
  // REQUIRES: `cuda` and `layers` outlive this object, and no graph with its work is replayed
  // later.
  OwnPath(Cuda& cuda, const std::vector<Layer>& layers, int32_t max_tokens);
  ~OwnPath() { cuda_.Synchronize(); }
  OwnPath(const OwnPath&) = delete;
  OwnPath& operator=(const OwnPath&) = delete;

  // x and y: [tokens, kHidden] on the device.
  void Enqueue(size_t layer, int32_t tokens, const void* x, void* y);

 private:
  struct Block {
    const Layer* layer;
    int32_t tokens;
    const Bf16* x;
    Bf16* y;
  };

  Cuda& cuda_;
  const std::vector<Layer>& layers_;
  // Blocks follow each other on the one stream, so that all use the same page-locked memory.
  Bf16* x_;
  Bf16* y_;
  std::deque<Block> blocks_;  // host functions point at them, so they do not move
};

}  // namespace example

#endif  // FUSEBOX_EXAMPLES_DECODE_LOOP_OWN_PATH_H_
