// A C++17 program without exceptions and RTTI that uses fusebox.hpp, planning for a GPU that is not
// there. Exits 0 when all went as documented.
#include <cstdio>
#include <cstring>
#include <utility>

#include "fusebox/fusebox.hpp"

namespace {

int Run() {
  fusebox_engine_options options = fusebox::api::EngineOptions();
  options.device_ordinal = -1;
  options.device_profile = "h200-sxm";
  options.cache_dirs = "/nonexistent/cache";
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  options.log_level = FUSEBOX_LOG_OFF;
  fusebox::api::Engine engine;
  if (!engine.Create(&options)) return 1;
  if (std::strcmp(fusebox::api::Version(), FUSEBOX_VERSION_STRING) != 0) return 7;

  fusebox_ffn_desc desc = fusebox::api::FfnDesc();
  desc.hidden = 2048;
  desc.intermediate = 8192;
  desc.dtype = FUSEBOX_DTYPE_BF16;
  desc.activation = FUSEBOX_ACTIVATION_RELU;
  fusebox::api::Op op;
  if (!op.CreateFfn(engine, desc)) return 2;
  const std::int32_t tokens = 8;
  if (op.Prepare(&tokens, 1, FUSEBOX_PREPARE_BLOCK).code() != FUSEBOX_NOT_READY) return 3;

  fusebox::api::Op moved = std::move(op);
  std::size_t bytes = 0;
  if (op || !moved || !moved.WorkspaceSize(0, &bytes)) return 4;
  fusebox::api::Binding binding;
  if (binding.BindFfn(moved, fusebox::api::FfnWeights()).code() != FUSEBOX_UNAVAILABLE) return 5;
  // A failed create keeps what the owner has.
  desc.hidden = -1;
  if (moved.CreateFfn(engine, desc) || !moved) return 6;
  return 0;
}

}  // namespace

int main() {
  const int failure = Run();
  if (failure != 0) std::printf("step %d: %s\n", failure, fusebox::api::LastErrorMessage());
  std::printf("cpp consumer: %d passed, %d failed\n", failure == 0, failure != 0);
  return failure;
}
