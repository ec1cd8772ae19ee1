#include "tests/engine/engine_fixture.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "runtime/cache/cubin_store.h"
#include "src/source/emit_reference.h"
#include "tests/compile/small_kernel.h"

namespace fusebox {
namespace {

constexpr int64_t kHidden = 2048;
constexpr int64_t kIntermediate = 8192;

}  // namespace

EngineFixture::EngineFixture()
    : driver_(FakeDriver::Reset()),
      cache_root_(absl::StrCat(testing::TempDir(), "/fusebox_engine_test-", getpid())) {
  std::filesystem::remove_all(cache_root_);
}

EngineFixture::~EngineFixture() {
  binding_.reset();
  op_.reset();
  engine_.reset();
  std::error_code error;
  std::filesystem::remove_all(cache_root_, error);
}

EngineSettings EngineFixture::Settings(const std::function<void(EngineSettings&)>& change) {
  EngineSettings settings;
  settings.config.cache_dirs = {cache_root_};
  settings.config.compile_mode = CompileMode::kNever;
  settings.config.decline_slower = false;
  settings.config.log_level = LogLevel::kDebug;
  settings.log_user = this;
  settings.log_callback = [](void* user, fusebox_log_level, const char* line) {
    auto* const fixture = static_cast<EngineFixture*>(user);
    const std::lock_guard<std::mutex> lock(fixture->log_mutex_);
    fixture->log_lines_.emplace_back(line);
  };
  if (change != nullptr) change(settings);
  return settings;
}

EnginePointer EngineFixture::MakeEngine(const std::function<void(EngineSettings&)>& change) {
  auto engine = Engine::Create(Settings(change), [this] { return driver_.Api(); });
  EXPECT_TRUE(engine.ok()) << engine.status();
  return EnginePointer(engine.ok() ? new fusebox_engine{*std::move(engine)} : nullptr);
}

absl::Status EngineFixture::TryEngine(const std::function<void(EngineSettings&)>& change) {
  return Engine::Create(Settings(change), [this] { return driver_.Api(); }).status();
}

fusebox_ffn_desc EngineFixture::Desc() {
  return {.struct_size = sizeof(fusebox_ffn_desc),
          .hidden = kHidden,
          .intermediate = kIntermediate,
          .dtype = FUSEBOX_DTYPE_BF16,
          .activation = FUSEBOX_ACTIVATION_SILU,
          .gated = 1};
}

OpPointer EngineFixture::MakeOp(const EnginePointer& engine, const fusebox_ffn_desc& desc) {
  fusebox_op* op = nullptr;
  EXPECT_EQ(fusebox_ffn_create(engine.get(), &desc, &op), FUSEBOX_OK)
      << fusebox_last_error_message();
  return OpPointer(op);
}

fusebox_ffn_weights EngineFixture::Weights(const fusebox_ffn_desc& desc) {
  const bool is_fused = desc.gated == 1 && desc.gate_up != FUSEBOX_GATE_UP_SEPARATE;
  const bool has_gate = desc.gated == 1 && !is_fused;
  const bool has_up_bias = (desc.biases & FUSEBOX_BIAS_UP) != 0;
  const auto where = [](bool asked, uintptr_t address) {
    return asked ? DeviceAddress(address) : nullptr;
  };
  return {.struct_size = sizeof(fusebox_ffn_weights),
          .gate_up = where(is_fused, 0x10000000),
          .gate = where(has_gate, 0x12000000),
          .up = where(!is_fused, 0x14000000),
          .down = DeviceAddress(0x20000000),
          .gate_up_bias = where(has_up_bias && is_fused, 0x21000000),
          .gate_bias = where(has_up_bias && has_gate, 0x22000000),
          .up_bias = where(has_up_bias && !is_fused, 0x23000000),
          .down_bias = where((desc.biases & FUSEBOX_BIAS_DOWN) != 0, 0x24000000),
          .norm_weight = where(desc.norm != FUSEBOX_NORM_NONE, 0x25000000),
          .norm_bias = where(desc.norm == FUSEBOX_NORM_LAYER, 0x26000000),
          .second_norm_weight = where(desc.residual_mode == FUSEBOX_RESIDUAL_SANDWICH, 0x27000000),
          .eps = desc.norm == FUSEBOX_NORM_NONE ? 0.0 : 1e-6};
}

BindingPointer EngineFixture::Bind(const OpPointer& op, const fusebox_ffn_weights& weights) {
  fusebox_binding* binding = nullptr;
  EXPECT_EQ(fusebox_ffn_bind(op.get(), &weights, &binding), FUSEBOX_OK)
      << fusebox_last_error_message();
  return BindingPointer(binding);
}

fusebox_ffn_args EngineFixture::Args(const OpPointer& op, int tokens) {
  size_t bytes = 0;
  EXPECT_EQ(fusebox_op_workspace_size(op.get(), 0, &bytes), FUSEBOX_OK);
  void* const workspace = DeviceAddress(0x50000000);
  EXPECT_EQ(fusebox_workspace_init(op.get(), workspace, bytes, nullptr), FUSEBOX_OK)
      << fusebox_last_error_message();
  void* const residual = op->ffn->spec().problem.residual_mode == ResidualMode::kAddBeforeNorm
                             ? DeviceAddress(0x38000000)
                             : nullptr;
  return {.struct_size = sizeof(fusebox_ffn_args),
          .tokens = tokens,
          .x = DeviceAddress(0x30000000),
          .residual = residual,
          .y = DeviceAddress(0x40000000),
          .workspace = workspace,
          .workspace_bytes = bytes,
          .residual_out = residual};
}

void EngineFixture::WarmCache(const OpPointer& op) {
  const auto silent = EventLog::Silent();
  CubinStore store({cache_root_}, silent.get());
  for (size_t i = 0; i < kNumTokenTiles; ++i) {
    for (size_t rung = 0; rung < op->ffn->NumRungs(i); ++rung) {
      const KernelSource& source = op->ffn->Planned(i, rung).source;
      ASSERT_TRUE(store.Store(source, MadeUpKernel(static_cast<int>(i))).ok());
    }
  }
}

void EngineFixture::WarmReference(const OpPointer& op) {
  const auto silent = EventLog::Silent();
  CubinStore store({cache_root_}, silent.get());
  const auto source = EmitReference(op->ffn->spec().problem, TemplateSet::Embedded());
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE(store.Store(*source, MadeUpKernel(99)).ok());
}

fusebox_status EngineFixture::Prepare(const OpPointer& op, std::vector<int32_t> tokens,
                                      fusebox_prepare_mode mode) {
  return fusebox_op_prepare(op.get(), tokens.data(), tokens.size(), mode);
}

bool EngineFixture::IsReady(const OpPointer& op, int32_t tokens) {
  int32_t ready = -1;
  EXPECT_EQ(fusebox_op_is_ready(op.get(), tokens, &ready), FUSEBOX_OK)
      << fusebox_last_error_message();
  return ready == 1;
}

fusebox_engine_stats_values EngineFixture::Stats(const EnginePointer& engine) {
  fusebox_engine_stats_values stats = {.struct_size = sizeof(stats)};
  EXPECT_EQ(fusebox_engine_stats(engine.get(), &stats), FUSEBOX_OK);
  return stats;
}

std::vector<std::string> EngineFixture::LogLines() {
  const std::lock_guard<std::mutex> lock(log_mutex_);
  return log_lines_;
}

void EngineFixture::SetUpReadyBinding(const fusebox_ffn_desc& desc,
                                      const std::function<void(EngineSettings&)>& change) {
  engine_ = MakeEngine(change);
  op_ = MakeOp(engine_, desc);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8, 16, 32, 64, 128}), FUSEBOX_OK) << fusebox_last_error_message();
  binding_ = Bind(op_, Weights(desc));
}

}  // namespace fusebox
