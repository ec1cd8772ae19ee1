// Every mistake of a caller ends in the status that the headers name and a sentence; nothing
// crashes, nothing is enqueued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "runtime/engine/last_error.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class BadInputTest : public EngineFixture {
 protected:
  void ExpectFailure(fusebox_status status, fusebox_status expected, const std::string& sentence) {
    EXPECT_EQ(status, expected) << sentence;
    EXPECT_THAT(std::string(fusebox_last_error_message()), HasSubstr(sentence));
    EXPECT_THAT(std::string(fusebox_last_error_message()), testing::Not(HasSubstr("\n")));
  }
};

TEST_F(BadInputTest, EveryEntryRefusesNull) {
  SetUpReadyBinding();
  const fusebox_ffn_desc desc = Desc();
  const fusebox_ffn_weights weights = Weights();
  const fusebox_ffn_args args = Args(op_, 1);
  fusebox_op* op = nullptr;
  fusebox_binding* binding = nullptr;
  size_t bytes = 0;
  int32_t ready = 0;
  const int32_t tokens = 1;
  fusebox_engine_stats_values stats = {.struct_size = sizeof(stats)};
  fusebox_engine* const engine = engine_.get();
  const fusebox_status statuses[] = {
      fusebox_engine_create(nullptr, nullptr),
      fusebox_engine_freeze(nullptr),
      fusebox_engine_wait(nullptr, 0),
      fusebox_engine_stats(nullptr, &stats),
      fusebox_engine_stats(engine, nullptr),
      fusebox_engine_stats_text(nullptr, nullptr, 0, &bytes),
      fusebox_engine_stats_text(engine, nullptr, 10, &bytes),
      fusebox_ffn_create(nullptr, &desc, &op),
      fusebox_ffn_create(engine, nullptr, &op),
      fusebox_ffn_create(engine, &desc, nullptr),
      fusebox_op_prepare(nullptr, &tokens, 1, FUSEBOX_PREPARE_DEFAULT),
      fusebox_op_prepare(op_.get(), nullptr, 1, FUSEBOX_PREPARE_DEFAULT),
      fusebox_op_is_ready(nullptr, 1, &ready),
      fusebox_op_is_ready(op_.get(), 1, nullptr),
      fusebox_op_workspace_size(nullptr, 1, &bytes),
      fusebox_op_workspace_size(op_.get(), 1, nullptr),
      fusebox_workspace_init(nullptr, DeviceAddress(0x1000), 1 << 20, nullptr),
      fusebox_op_plan_json(nullptr, 1, nullptr, 0, &bytes),
      fusebox_ffn_bind(nullptr, &weights, &binding),
      fusebox_ffn_bind(op_.get(), nullptr, &binding),
      fusebox_ffn_bind(op_.get(), &weights, nullptr),
      fusebox_ffn_launch(nullptr, &args, nullptr),
      fusebox_ffn_launch(binding_.get(), nullptr, nullptr)};
  for (size_t i = 0; i < std::size(statuses); ++i) {
    EXPECT_EQ(statuses[i], FUSEBOX_INVALID_ARGUMENT) << "call " << i;
  }
  EXPECT_EQ(fusebox_engine_destroy(nullptr), FUSEBOX_OK);
  EXPECT_EQ(fusebox_op_destroy(nullptr), FUSEBOX_OK);
  EXPECT_EQ(fusebox_binding_destroy(nullptr), FUSEBOX_OK);
  EXPECT_EQ(fusebox_op_prepare(op_.get(), nullptr, 0, FUSEBOX_PREPARE_DEFAULT), FUSEBOX_OK);
  EXPECT_EQ(driver_.num_launches, 0);
}

TEST_F(BadInputTest, EveryStructRefusesASizeThatNoVersionHad) {
  SetUpReadyBinding();
  for (const size_t change : {size_t{0}, size_t{1}, sizeof(void*)}) {  // 0: struct_size 0
    fusebox_ffn_desc desc = Desc();
    desc.struct_size = change == 0 ? 0 : sizeof(desc) + change;
    fusebox_op* op = nullptr;
    ExpectFailure(fusebox_ffn_create(engine_.get(), &desc, &op), FUSEBOX_INVALID_ARGUMENT,
                  "fusebox_ffn_desc::struct_size is");
    fusebox_ffn_weights weights = Weights();
    weights.struct_size = change == 0 ? 0 : sizeof(weights) + change;
    fusebox_binding* binding = nullptr;
    ExpectFailure(fusebox_ffn_bind(op_.get(), &weights, &binding), FUSEBOX_INVALID_ARGUMENT,
                  "fusebox_ffn_weights::struct_size is");
    fusebox_ffn_args args = Args(op_, 1);
    args.struct_size = change == 0 ? 0 : sizeof(args) + change;
    ExpectFailure(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_INVALID_ARGUMENT,
                  "fusebox_ffn_args::struct_size is");
    fusebox_engine_options options = {};
    options.struct_size = change == 0 ? 0 : sizeof(options) + change;
    fusebox_engine* engine = nullptr;
    ExpectFailure(fusebox_engine_create(&options, &engine), FUSEBOX_INVALID_ARGUMENT,
                  "fusebox_engine_options::struct_size is");
    fusebox_engine_stats_values stats = {};
    stats.struct_size = change == 0 ? 0 : sizeof(stats) + change;
    ExpectFailure(fusebox_engine_stats(engine_.get(), &stats), FUSEBOX_INVALID_ARGUMENT,
                  "fusebox_engine_stats_values::struct_size is");
  }
}

TEST_F(BadInputTest, AnOpTellsMistakesFromWhatIsNotServed) {
  engine_ = MakeEngine();
  const struct {
    std::function<void(fusebox_ffn_desc&)> change;
    fusebox_status status;
    const char* sentence;
  } cases[] = {
      {[](auto& d) { d.dtype = 0; }, FUSEBOX_INVALID_ARGUMENT, "dtype is 0, which names nothing"},
      {[](auto& d) { d.dtype = 99; }, FUSEBOX_INVALID_ARGUMENT, "dtype is 99"},
      {[](auto& d) { d.dtype = 3; }, FUSEBOX_INVALID_ARGUMENT, "dtype is 3"},
      {[](auto& d) { d.activation = 0; }, FUSEBOX_INVALID_ARGUMENT, "activation is 0"},
      {[](auto& d) { d.activation = -7; }, FUSEBOX_INVALID_ARGUMENT, "activation is -7"},
      {[](auto& d) { d.activation = 7; }, FUSEBOX_INVALID_ARGUMENT, "activation is 7"},
      {[](auto& d) { d.gated = 2; }, FUSEBOX_INVALID_ARGUMENT, "gated is 2"},
      {[](auto& d) { d.gate_up = 3; }, FUSEBOX_INVALID_ARGUMENT, "gate_up is 3"},
      {[](auto& d) { d.layout = 5; }, FUSEBOX_INVALID_ARGUMENT, "layout is 5"},
      {[](auto& d) { d.biases = 64; }, FUSEBOX_INVALID_ARGUMENT, "biases is 64"},
      {[](auto& d) { d.norm = 4; }, FUSEBOX_INVALID_ARGUMENT, "norm is 4"},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_ADD_BEFORE_NORM; },
       FUSEBOX_INVALID_ARGUMENT, "residual mode add_before_norm needs a norm, and norm is none"},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_SANDWICH; }, FUSEBOX_INVALID_ARGUMENT,
       "residual mode sandwich needs a norm, and norm is none"},
      {[](auto& d) { d.residual_mode = FUSEBOX_RESIDUAL_SANDWICH, d.norm = FUSEBOX_NORM_LAYER; },
       FUSEBOX_DECLINED, "sandwich_norm: residual mode sandwich has no kernel for norm layer"},
      {[](auto& d) { d.residual_mode = -1; }, FUSEBOX_INVALID_ARGUMENT, "residual_mode is -1"},
      {[](auto& d) { d.rounding = 2; }, FUSEBOX_INVALID_ARGUMENT, "rounding is 2"},
      {[](auto& d) { d.flags = FUSEBOX_FLAG_BATCH_INVARIANT; }, FUSEBOX_DECLINED,
       "batch_invariant_served: "},
      {[](auto& d) { d.flags = 1u << 31; }, FUSEBOX_INVALID_ARGUMENT, "flags is"},
      {[](auto& d) { d.max_tokens = 129; }, FUSEBOX_DECLINED, "token_limit: max_tokens 129"},
      {[](auto& d) { d.max_tokens = 1 << 30; }, FUSEBOX_DECLINED, "token_limit: "},
      {[](auto& d) { d.max_tokens = -1; }, FUSEBOX_INVALID_ARGUMENT, "max_tokens is -1"},
      {[](auto& d) { d.hidden = 0; }, FUSEBOX_INVALID_ARGUMENT, "hidden is 0"},
      {[](auto& d) { d.hidden = -8; }, FUSEBOX_INVALID_ARGUMENT, "hidden is -8"},
      {[](auto& d) { d.hidden = 2052; }, FUSEBOX_DECLINED, "dim_granule: hidden 2052"},
      {[](auto& d) { d.intermediate = 1000000000000; }, FUSEBOX_INVALID_ARGUMENT,
       "intermediate is 1000000000000"},
      {[](auto& d) { d.intermediate = INT64_MIN; }, FUSEBOX_INVALID_ARGUMENT, "intermediate is -"},
      {[](auto& d) { d.intermediate = 8191; }, FUSEBOX_DECLINED, "dim_granule: intermediate 8191"},
      // A mistake beside a refusal is a mistake.
      {[](auto& d) { d.flags = FUSEBOX_FLAG_BATCH_INVARIANT, d.norm = 9; },
       FUSEBOX_INVALID_ARGUMENT, "norm is 9"}};
  for (const auto& [change, status, sentence] : cases) {
    fusebox_ffn_desc desc = Desc();
    change(desc);
    fusebox_op* op = nullptr;
    ExpectFailure(fusebox_ffn_create(engine_.get(), &desc, &op), status, sentence);
    EXPECT_EQ(op, nullptr);
  }
}

TEST_F(BadInputTest, ABindingNamesTheMatrixThatIsWrong) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  driver_.memory_of_gpu[DeviceAddress(0xf0000000)] = 1;
  driver_.not_device[DeviceAddress(0xf1000000)] = CUDA_ERROR_INVALID_VALUE;  // pageable
  driver_.not_device[DeviceAddress(0xf2000000)] = CUDA_SUCCESS;              // pinned
  const struct {
    std::function<void(fusebox_ffn_weights&)> change;
    fusebox_status status;
    const char* sentence;
  } cases[] = {
      {[](auto& w) { w.gate_up = nullptr; }, FUSEBOX_INVALID_ARGUMENT,
       "gate_up is NULL; the op needs a [16384, 2048] matrix there"},
      {[](auto& w) { w.down = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "down is NULL"},
      {[](auto& w) { w.gate = w.down; }, FUSEBOX_INVALID_ARGUMENT, "gate must be NULL"},
      {[](auto& w) { w.up = w.down; }, FUSEBOX_INVALID_ARGUMENT, "up must be NULL"},
      {[](auto& w) { w.down = DeviceAddress(0x20000008); }, FUSEBOX_INVALID_ARGUMENT,
       "down 0x20000008 is not aligned to 16 bytes"},
      {[](auto& w) { w.gate_up_ld = 2040; }, FUSEBOX_INVALID_ARGUMENT,
       "leading dimension 2040 of gate_up is below its width, 2048"},
      {[](auto& w) { w.down_ld = -8; }, FUSEBOX_INVALID_ARGUMENT, "leading dimension -8 of down"},
      {[](auto& w) { w.gate_up_ld = 2052; }, FUSEBOX_DECLINED,
       "row_pitch: leading dimension 2052 of gate_up is not a multiple of 8"},
      {[](auto& w) { w.gate_up = DeviceAddress(0xf0000000); }, FUSEBOX_INVALID_ARGUMENT,
       "gate_up 0xf0000000 lies on GPU 1, but the op's engine is for GPU 0"},
      {[](auto& w) { w.gate_up = DeviceAddress(0xf1000000); }, FUSEBOX_INVALID_ARGUMENT,
       "gate_up 0xf1000000 is no device memory"},
      {[](auto& w) { w.down = DeviceAddress(0xf2000000); }, FUSEBOX_INVALID_ARGUMENT,
       "down 0xf2000000 is no device memory"}};
  for (const auto& [change, status, sentence] : cases) {
    fusebox_ffn_weights weights = Weights();
    change(weights);
    fusebox_binding* binding = nullptr;
    ExpectFailure(fusebox_ffn_bind(op_.get(), &weights, &binding), status, sentence);
    EXPECT_EQ(binding, nullptr);
  }
}

TEST_F(BadInputTest, ABindingOfTwoMatricesTakesNoFusedOne) {
  engine_ = MakeEngine();
  fusebox_ffn_desc desc = Desc();
  desc.gate_up = FUSEBOX_GATE_UP_SEPARATE;
  op_ = MakeOp(engine_, desc);
  const fusebox_ffn_weights weights = Weights();
  fusebox_binding* binding = nullptr;
  ExpectFailure(fusebox_ffn_bind(op_.get(), &weights, &binding), FUSEBOX_INVALID_ARGUMENT,
                "gate_up must be NULL: the op's gate_up names two matrices");
}

TEST_F(BadInputTest, ALaunchRefusesWhatItCannotRun) {
  SetUpReadyBinding();
  const struct {
    std::function<void(fusebox_ffn_args&)> change;
    fusebox_status status;
    const char* sentence;
  } cases[] = {
      {[](auto& a) { a.tokens = -1; }, FUSEBOX_INVALID_ARGUMENT, "tokens is -1"},
      {[](auto& a) { a.tokens = INT32_MIN; }, FUSEBOX_INVALID_ARGUMENT, "tokens is -2147483648"},
      {[](auto& a) { a.tokens = 129; }, FUSEBOX_DECLINED, "token_limit: 129 tokens"},
      {[](auto& a) { a.tokens = INT32_MAX; }, FUSEBOX_DECLINED, "token_limit: 2147483647 tokens"},
      {[](auto& a) { a.flags = 6; }, FUSEBOX_INVALID_ARGUMENT, "flags 0x6 has unknown bits"},
      {[](auto& a) { a.x = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "x is NULL"},
      {[](auto& a) { a.y = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "y is NULL"},
      {[](auto& a) { a.x = DeviceAddress(0x30000002); }, FUSEBOX_INVALID_ARGUMENT,
       "x 0x30000002 is not aligned to 16 bytes"},
      {[](auto& a) { a.y = DeviceAddress(0x40000008); }, FUSEBOX_INVALID_ARGUMENT,
       "y 0x40000008 is not aligned to 16 bytes"},
      {[](auto& a) { a.x_stride = 2040; }, FUSEBOX_INVALID_ARGUMENT,
       "x_stride 2040 is below the width, 2048"},
      {[](auto& a) { a.y_stride = -2048; }, FUSEBOX_INVALID_ARGUMENT, "y_stride -2048 is below"},
      {[](auto& a) { a.x_stride = 2052; }, FUSEBOX_DECLINED, "row_pitch: x_stride 2052"},
      {[](auto& a) { a.y_stride = 2049; }, FUSEBOX_DECLINED, "row_pitch: y_stride 2049"},
      {[](auto& a) { a.y = const_cast<void*>(a.x); }, FUSEBOX_INVALID_ARGUMENT, "y is x"},
      {[](auto& a) { a.residual = a.x; }, FUSEBOX_INVALID_ARGUMENT,
       "residual is given, but the op's residual mode is none"},
      {[](auto& a) { a.workspace = nullptr; }, FUSEBOX_INVALID_ARGUMENT, "workspace is NULL"},
      {[](auto& a) { a.workspace = DeviceAddress(0x51000000); }, FUSEBOX_INVALID_ARGUMENT,
       "fusebox_workspace_init was not called for workspace 0x51000000"},
      {[](auto& a) { a.workspace_bytes = 16; }, FUSEBOX_INVALID_ARGUMENT,
       "the workspace has 16 bytes"}};
  for (const auto& [change, status, sentence] : cases) {
    fusebox_ffn_args args = Args(op_, 8);
    change(args);
    ExpectFailure(fusebox_ffn_launch(binding_.get(), &args, nullptr), status, sentence);
  }
  EXPECT_EQ(driver_.num_launches, 0);
}

TEST_F(BadInputTest, ALaunchRefusesAWorkspaceOfAnotherEngine) {
  SetUpReadyBinding();
  const auto other = MakeEngine();
  const OpPointer op = MakeOp(other);
  fusebox_ffn_args args = Args(op_, 8);
  size_t bytes = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op.get(), 0, &bytes), FUSEBOX_OK);
  args.workspace = DeviceAddress(0x52000000);
  ASSERT_EQ(fusebox_workspace_init(op.get(), args.workspace, bytes, nullptr), FUSEBOX_OK);
  ExpectFailure(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_INVALID_ARGUMENT,
                "on this engine");
}

TEST_F(BadInputTest, AWorkspaceMustBeAlignedAndLargeEnough) {
  SetUpReadyBinding();
  size_t bytes = 0;
  ASSERT_EQ(fusebox_op_workspace_size(op_.get(), 8, &bytes), FUSEBOX_OK);
  fusebox_op* const op = op_.get();
  ExpectFailure(fusebox_workspace_init(op, nullptr, bytes, nullptr), FUSEBOX_INVALID_ARGUMENT,
                "workspace is NULL");
  ExpectFailure(fusebox_workspace_init(op, DeviceAddress(0x53000010), bytes, nullptr),
                FUSEBOX_INVALID_ARGUMENT, "is not aligned to 256 bytes");
  ExpectFailure(fusebox_workspace_init(op, DeviceAddress(0x53000000), bytes - 1, nullptr),
                FUSEBOX_INVALID_ARGUMENT, "is too small");
  ExpectFailure(fusebox_workspace_init(op, DeviceAddress(0x53000000), 0, nullptr),
                FUSEBOX_INVALID_ARGUMENT, "workspace of 0 bytes is too small");
  size_t out = 77;
  ExpectFailure(fusebox_op_workspace_size(op, 129, &out), FUSEBOX_DECLINED, "token_limit: ");
  ExpectFailure(fusebox_op_workspace_size(op, -1, &out), FUSEBOX_INVALID_ARGUMENT, "tokens is -1");
  EXPECT_EQ(out, 77u);
}

TEST_F(BadInputTest, EngineOptionsAreRefusedByName) {
  const struct {
    std::function<void(fusebox_engine_options&)> change;
    const char* sentence;
  } cases[] = {{[](auto& o) { o.device_ordinal = -2; }, "device_ordinal is -2"},
               {[](auto& o) { o.compile_mode = 4; }, "compile_mode is 4"},
               {[](auto& o) { o.compile_threads = 65; }, "compile_threads is 65"},
               {[](auto& o) { o.compile_threads = -1; }, "compile_threads is -1"},
               {[](auto& o) { o.pdl = 3; }, "pdl is 3"},
               {[](auto& o) { o.log_level = 7; }, "log_level is 7"},
               {[](auto& o) { o.device_ordinal = -1; }, "profile: an engine without GPU"},
               {[](auto& o) { o.device_ordinal = -1, o.device_profile = "h2000"; }, "h2000"}};
  for (const auto& [change, sentence] : cases) {
    fusebox_engine_options options = {.struct_size = sizeof(options)};
    change(options);
    fusebox_engine* engine = nullptr;
    ExpectFailure(fusebox_engine_create(&options, &engine), FUSEBOX_INVALID_ARGUMENT, sentence);
    EXPECT_EQ(engine, nullptr);
  }
}

TEST_F(BadInputTest, ABadKnobFailsEngineCreation) {
  ASSERT_EQ(setenv("FUSEBOX_COMPILE", "sometimes", 1), 0);
  fusebox_engine_options options = {.struct_size = sizeof(options), .device_ordinal = -1};
  fusebox_engine* engine = nullptr;
  const fusebox_status status = fusebox_engine_create(&options, &engine);
  unsetenv("FUSEBOX_COMPILE");
  ExpectFailure(status, FUSEBOX_INVALID_ARGUMENT,
                "FUSEBOX_COMPILE=sometimes is not accepted; use background, block or never");
}

TEST_F(BadInputTest, AnEngineSaysWhatItsMachineLacks) {
  driver_.device_count = 0;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryEngine(nullptr)));
  driver_.device_count = 1;
  EXPECT_TRUE(
      absl::IsFailedPrecondition(TryEngine([](EngineSettings& s) { s.device_ordinal = 1; })));
  driver_.compute_major = 8;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryEngine(nullptr)));
  driver_.compute_major = 9;
  driver_.device_name = "NVIDIA H20";
  const absl::Status status = TryEngine(nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("FUSEBOX_DEVICE_PROFILE"));
  EXPECT_EQ(driver_.num_contexts, 0);
}

TEST_F(BadInputTest, UnknownPrepareModesAreRefused) {
  SetUpReadyBinding();
  const int32_t tokens = 8;
  ExpectFailure(fusebox_op_prepare(op_.get(), &tokens, 1, 3), FUSEBOX_INVALID_ARGUMENT,
                "mode 3 names nothing");
}

TEST_F(BadInputTest, StatusesHaveNames) {
  EXPECT_STREQ(fusebox_status_string(FUSEBOX_OK), "OK");
  EXPECT_STREQ(fusebox_status_string(FUSEBOX_INTERNAL), "INTERNAL");
  EXPECT_STREQ(fusebox_status_string(99), "UNKNOWN");
  EXPECT_STREQ(fusebox_status_string(-1), "UNKNOWN");
  EXPECT_STREQ(fusebox_version(), FUSEBOX_VERSION_STRING);
}

}  // namespace
}  // namespace fusebox
