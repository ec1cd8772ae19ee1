// What the C API's opaque handles are: owners of the engine's objects. Ops keep their engine alive,
// bindings their op.
#ifndef FUSEBOX_RUNTIME_ENGINE_HANDLES_H_
#define FUSEBOX_RUNTIME_ENGINE_HANDLES_H_

#include <memory>

#include "runtime/engine/engine.h"
#include "runtime/engine/ffn_binding.h"
#include "runtime/engine/ffn_op.h"

struct fusebox_engine {
  std::shared_ptr<fusebox::Engine> engine;
};

struct fusebox_op {
  std::shared_ptr<fusebox::FfnOp> ffn;
};

struct fusebox_binding {
  std::unique_ptr<fusebox::FfnBinding> ffn;
};

#endif  // FUSEBOX_RUNTIME_ENGINE_HANDLES_H_
