#include "examples/decode_loop/own_path.h"

namespace example {

OwnPath::OwnPath(Cuda& cuda, const std::vector<Layer>& layers, int32_t max_tokens)
    : cuda_(cuda), layers_(layers) {
  const size_t bytes = static_cast<size_t>(max_tokens * kHidden) * sizeof(Bf16);
  x_ = static_cast<Bf16*>(cuda.AllocateHost(bytes));
  y_ = static_cast<Bf16*>(cuda.AllocateHost(bytes));
}

void OwnPath::Enqueue(size_t layer, int32_t tokens, const void* x, void* y) {
  const size_t bytes = static_cast<size_t>(tokens * kHidden) * sizeof(Bf16);
  Block& block = blocks_.emplace_back(Block{&layers_[layer], tokens, x_, y_});
  cuda_.Download(x_, x, bytes);
  cuda_.Call(
      [](void* argument) {
        const Block& todo = *static_cast<const Block*>(argument);
        RunBlock(*todo.layer, todo.tokens, todo.x, todo.y);
      },
      &block);
  cuda_.Upload(y, y_, bytes);
}

}  // namespace example
