// EngineFixture: an engine on a FakeDriver with a cache root of its own, driven through the C API.
// Kernels come from the disk cache (WarmCache puts made-up cubins there), so that no NVRTC is
// needed.
#ifndef FUSEBOX_TESTS_ENGINE_ENGINE_FIXTURE_H_
#define FUSEBOX_TESTS_ENGINE_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fusebox/fusebox.h"
#include "runtime/engine/handles.h"
#include "runtime/engine/settings.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {

struct EngineDeleter {
  void operator()(fusebox_engine* engine) const { (void)fusebox_engine_destroy(engine); }
};
struct OpDeleter {
  void operator()(fusebox_op* op) const { (void)fusebox_op_destroy(op); }
};
struct BindingDeleter {
  void operator()(fusebox_binding* binding) const { (void)fusebox_binding_destroy(binding); }
};
using EnginePointer = std::unique_ptr<fusebox_engine, EngineDeleter>;
using OpPointer = std::unique_ptr<fusebox_op, OpDeleter>;
using BindingPointer = std::unique_ptr<fusebox_binding, BindingDeleter>;

// A made-up device address: never dereferenced, as no GPU runs.
inline void* DeviceAddress(uintptr_t address) { return reinterpret_cast<void*>(address); }

class EngineFixture : public testing::Test {
 protected:
  EngineFixture();
  ~EngineFixture() override;

  // Never compiles, so that what is not warmed is not there, and serves every tile, whether fusion
  // pays or not; `change` may say otherwise.
  EngineSettings Settings(const std::function<void(EngineSettings&)>& change = nullptr);
  EnginePointer MakeEngine(const std::function<void(EngineSettings&)>& change = nullptr);
  absl::Status TryEngine(const std::function<void(EngineSettings&)>& change);

  static fusebox_ffn_desc Desc();  // Llama-like: 2048 x 8192, gated silu, fused gate_up
  static OpPointer MakeOp(const EnginePointer& engine, const fusebox_ffn_desc& desc = Desc());
  static fusebox_ffn_weights Weights(const fusebox_ffn_desc& desc = Desc());  // all it asks for
  static BindingPointer Bind(const OpPointer& op, const fusebox_ffn_weights& weights = Weights());
  // x, y, workspace for `tokens`, in mode add_before_norm a residual in place; the workspace is
  // initialised.
  static fusebox_ffn_args Args(const OpPointer& op, int tokens);

  // Puts made-up cubins for all tiles and rungs of the op into the cache root.
  void WarmCache(const OpPointer& op);
  void WarmReference(const OpPointer& op);  // a made-up oracle, for shadow launches
  static fusebox_status Prepare(const OpPointer& op, std::vector<int32_t> tokens,
                                fusebox_prepare_mode mode = FUSEBOX_PREPARE_BLOCK);
  static bool IsReady(const OpPointer& op, int32_t tokens);
  static fusebox_engine_stats_values Stats(const EnginePointer& engine);
  std::vector<std::string> LogLines();

  // All at once: engine, op with its kernels, binding.
  void SetUpReadyBinding(const fusebox_ffn_desc& desc = Desc(),
                         const std::function<void(EngineSettings&)>& change = nullptr);

  FakeDriver& driver_;
  const std::string cache_root_;
  std::mutex log_mutex_;
  std::vector<std::string> log_lines_;
  EnginePointer engine_;
  OpPointer op_;
  BindingPointer binding_;
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_ENGINE_ENGINE_FIXTURE_H_
