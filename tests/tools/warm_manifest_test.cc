// What an engine recorded, warmed by the command on a machine without a GPU, serves an engine that
// may not compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/model/manifest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

fusebox_ffn_desc LayerNormDesc() {
  return {.struct_size = sizeof(fusebox_ffn_desc),
          .hidden = 1024,
          .intermediate = 4096,
          .dtype = FUSEBOX_DTYPE_FP16,
          .activation = FUSEBOX_ACTIVATION_RELU,
          .biases = FUSEBOX_BIAS_UP | FUSEBOX_BIAS_DOWN,
          .norm = FUSEBOX_NORM_LAYER,
          .residual_mode = FUSEBOX_RESIDUAL_ADD_AFTER};
}

class WarmManifestTest : public EngineFixture {
 protected:
  // Asks for three kernels of two ops: two by preparing, one by launching.
  void Record(const std::function<void(EngineSettings&)>& change = nullptr) {
    const EnginePointer engine = MakeEngine([&](EngineSettings& s) {
      s.config.record_file = manifest_;
      if (change != nullptr) change(s);
    });
    const OpPointer prepared = MakeOp(engine);
    EXPECT_EQ(Prepare(prepared, {1, 8, 30}), FUSEBOX_NOT_READY);
    const OpPointer launched = MakeOp(engine, LayerNormDesc());
    const BindingPointer binding = Bind(launched, Weights(LayerNormDesc()));
    fusebox_ffn_args args = Args(launched, 9);
    args.residual = args.x;
    EXPECT_EQ(fusebox_ffn_launch(binding.get(), &args, nullptr), FUSEBOX_NOT_READY)
        << fusebox_last_error_message();
  }

  CommandResult Warm(std::vector<std::string> more = {}, const KnobSettings& knobs = {}) const {
    std::vector<std::string> arguments = {"warm",        "--json",    "--manifest", manifest_,
                                          "--cache-dir", cache_root_, "--jobs",     "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(arguments, knobs);
  }

  // On an engine that may not compile, and finds no NVRTC either.
  void ExpectServed(const std::function<void(EngineSettings&)>& change = nullptr) {
    const EnginePointer engine = MakeEngine([&](EngineSettings& s) {
      s.config.compile_mode = CompileMode::kNever;
      s.config.nvrtc_path = "/nonexistent";
      if (change != nullptr) change(s);
    });
    const OpPointer first = MakeOp(engine), second = MakeOp(engine, LayerNormDesc());
    ASSERT_EQ(Prepare(first, {1, 8, 30}), FUSEBOX_OK) << fusebox_last_error_message();
    ASSERT_EQ(Prepare(second, {9}), FUSEBOX_OK) << fusebox_last_error_message();
    for (const int tokens : {1, 8, 30}) EXPECT_TRUE(IsReady(first, tokens)) << tokens;
    EXPECT_TRUE(IsReady(second, 9));
    EXPECT_EQ(Stats(engine).cache_misses, 0u);
    EXPECT_EQ(Stats(engine).compiles, 0u);
    EXPECT_EQ(Stats(engine).cache_disk_hits, 3u);
  }

  const TemporaryFolder folder_;
  const std::string manifest_ = folder_.path("recorded.jsonl");
};

TEST_F(WarmManifestTest, ServesAnEngineThatMayNotCompileWithoutAMiss) {
  Record();
  const CommandResult warmed = Warm();
  ASSERT_EQ(warmed.exit_code, 0) << warmed.err << warmed.out;
  const nlohmann::json json = warmed.Json();
  EXPECT_EQ(json["gpu"], "h200-sxm") << "the profile that was recorded";
  EXPECT_EQ(json["totals"]["compiled"], 3) << "what was asked for, and no more";
  EXPECT_EQ(json["manifests"][0]["entries"], 3);
  EXPECT_EQ(json["kernels"][0]["asked_by"][0]["manifest"], manifest_);
  ExpectServed();
}

TEST_F(WarmManifestTest, ServesAlsoWhereAPlanIsForced) {
  const EnginePointer plain = MakeEngine();
  const FusionPlan forced = MakeOp(plain)->ffn->Planned(0).report.runners_up.back().plan;
  const auto force = [&](EngineSettings& s) { s.config.force_plan = forced.ToJson(); };
  Record(force);
  const CommandResult warmed = Warm({}, {{"FUSEBOX_FORCE_PLAN", forced.ToJson()}});
  ASSERT_EQ(warmed.exit_code, 0) << warmed.err << warmed.out;
  EXPECT_EQ(warmed.Json()["kernels"][0]["plan"], forced.Summary());
  ExpectServed(force);
}

TEST_F(WarmManifestTest, ServesAlsoWhereTheDeviceCodeIsEdited) {
  const std::string templates = folder_.path("templates");
  std::filesystem::copy("kernels_templates", templates, std::filesystem::copy_options::recursive);
  const std::string header = templates + "/kernels/ffn.cuh";
  WriteText(header, ReadText(header) + "// edited\n");
  const auto edit = [&](EngineSettings& s) { s.config.template_dir = templates; };
  Record(edit);
  const CommandResult warmed = Warm({}, {{"FUSEBOX_TEMPLATE_DIR", templates}});
  ASSERT_EQ(warmed.exit_code, 0) << warmed.err << warmed.out;
  ExpectServed(edit);
  // Another engine, without the edit, must not find these kernels to be its own.
  const EnginePointer plain = MakeEngine();
  EXPECT_EQ(Prepare(MakeOp(plain), {8}), FUSEBOX_NOT_READY);
}

TEST_F(WarmManifestTest, GpuNamesAnotherTypeThanTheRecordedOne) {
  Record();
  const CommandResult named = Warm({"--gpu", "gh200"}, {{"FUSEBOX_DEVICE_PROFILE", "h100-sxm"}});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.Json()["gpu"], "gh200");
}

TEST_F(WarmManifestTest, SeveralRecordedTypesNeedAName) {
  Record();
  ManifestEntry entry = ParseManifest(ReadText(manifest_)).value().front();
  entry.profile = "h100-sxm";
  WriteText(manifest_, ReadText(manifest_) + ManifestLine(entry));
  const CommandResult unnamed = Warm();
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("recorded on several GPU types: h100-sxm, h200-sxm; warm for "
                                     "one of them at a time"));
  EXPECT_EQ(Warm({"--gpu", "h200-sxm"}).Json()["totals"]["compiled"], 3);
}

TEST_F(WarmManifestTest, ModelsAndManifestsAreWarmedTogether) {
  Record();
  const CommandResult result =
      Warm({"--model", "bench/models/Qwen--Qwen3-0.6B.json", "--tokens", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["totals"]["compiled"], 4);
  const CommandResult text =
      RunCommand({"warm", "--manifest", manifest_, "--cache-dir", cache_root_});
  EXPECT_THAT(text.out, AllOf(HasSubstr("recorded.jsonl: 3 ops and token tiles, recorded on "
                                        "h200-sxm"),
                              HasSubstr("0 compiled, 3 cached")));
}

}  // namespace
}  // namespace fusebox
