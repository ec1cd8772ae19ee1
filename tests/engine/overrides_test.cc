// FUSEBOX_FORCE_PLAN and FUSEBOX_TEMPLATE_DIR: what an engine makes of them, and which it refuses.
#include "runtime/engine/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cache/files.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OverridesTest : public EngineFixture {
 protected:
  // A copy of kernels_templates/; tests run in the repository's root.
  void SetUp() override {
    fs::create_directories(cache_root_);
    fs::copy("kernels_templates", templates_, fs::copy_options::recursive);
  }

  EnginePointer MakeForcingEngine(const std::string& force_plan) {
    return MakeEngine([&](EngineSettings& s) {
      s.config.log_level = LogLevel::kWarn;
      s.config.force_plan = force_plan;
    });
  }
  EnginePointer MakeEngineOfTemplates() {
    return MakeEngine([&](EngineSettings& s) {
      s.config.log_level = LogLevel::kWarn;
      s.config.template_dir = templates_;
    });
  }
  absl::Status TryTemplates() {
    return TryEngine([&](EngineSettings& s) { s.config.template_dir = templates_; });
  }
  absl::Status TryForcing(const std::string& force_plan) {
    return TryEngine([&](EngineSettings& s) { s.config.force_plan = force_plan; });
  }

  // The second choice for the fixture's op.
  static FusionPlan RunnerUp(const EnginePointer& engine) {
    const OpPointer op = MakeOp(engine);
    return op->ffn->Planned(0).report.runners_up.back().plan;
  }

  static std::string DigestOf(const EnginePointer& engine) {
    const OpPointer op = MakeOp(engine);
    return op->ffn->Planned(0).source.Digest().ToHex();
  }

  int64_t NumLines(std::string_view part) {
    const std::vector<std::string> lines = LogLines();
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

  const std::string templates_ = cache_root_ + "/templates";
};

nlohmann::json PlanJson(const OpPointer& op, int32_t tokens) {
  std::string text(1 << 20, '\0');
  size_t bytes = 0;
  EXPECT_EQ(fusebox_op_plan_json(op.get(), tokens, text.data(), text.size(), &bytes), FUSEBOX_OK);
  text.resize(bytes - 1);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

TEST_F(OverridesTest, AForcedPlanIsUsedAndSaid) {
  const FusionPlan forced = RunnerUp(MakeEngine());
  engine_ = MakeForcingEngine(forced.ToJson());
  op_ = MakeOp(engine_);
  EXPECT_EQ(op_->ffn->Planned(0).report.best.plan, forced);
  EXPECT_EQ(op_->ffn->Planned(0).source.plan_json, forced.ToJson());
  const nlohmann::json json = PlanJson(op_, 8);
  EXPECT_EQ(json["search"]["chosen_by"], "force");
  EXPECT_EQ(json["search"]["best"]["summary"], forced.Summary());
  EXPECT_NE(PlanJson(op_, 16)["search"]["chosen_by"], "force");
  EXPECT_THAT(LogLines(),
              testing::Contains(AllOf(HasSubstr("stage=plan"), HasSubstr("chosen_by=force"),
                                      HasSubstr(forced.Summary()))));
}

TEST_F(OverridesTest, AFileHoldsAPlanForEachTile) {
  const OpPointer plain = MakeOp(MakeEngine());
  std::vector<FusionPlan> forced;
  std::string lines;
  for (size_t i = 0; i < kNumTokenTiles && plain->ffn->IsServed(i); ++i) {
    forced.push_back(plain->ffn->Planned(i).report.runners_up.back().plan);
    lines += forced.back().ToJson() + "\n";
  }
  const std::string path = cache_root_ + "/plans.jsonl";
  { std::ofstream(path) << lines; }
  engine_ = MakeForcingEngine("@" + path);
  op_ = MakeOp(engine_);
  ASSERT_GE(forced.size(), 2u);
  for (size_t i = 0; i < forced.size(); ++i) {
    EXPECT_EQ(op_->ffn->Planned(i).report.best.plan, forced[i]);
  }
}

TEST_F(OverridesTest, AForcedPlanHasNoOtherRungs) {
  const FusionPlan forced = RunnerUp(MakeEngine());
  engine_ = MakeForcingEngine(forced.ToJson());
  op_ = MakeOp(engine_);
  WarmCache(op_);
  EXPECT_EQ(op_->ffn->NumRungs(0), 1u);
  EXPECT_GT(op_->ffn->NumRungs(1), 1u) << "of the tile that is planned as usual";
  driver_.resident_ctas = forced.grid_ctas() - 1;
  EXPECT_EQ(Prepare(op_, {8}), FUSEBOX_DECLINED);
  EXPECT_THAT(fusebox_last_error_message(),
              AllOf(HasSubstr("co_resident: "),
                    HasSubstr(absl::StrCat(" needs ", forced.num_clusters, " clusters"))));
  driver_.resident_ctas = forced.grid_ctas();
  const OpPointer fitting = MakeOp(engine_);
  EXPECT_EQ(Prepare(fitting, {8}), FUSEBOX_OK) << fusebox_last_error_message();
  EXPECT_EQ(PlanJson(fitting, 8)["ladder"].size(), 1u);
}

TEST_F(OverridesTest, AnIllegalPlanFailsTheOpWithTheRulesSentence) {
  FusionPlan forced = RunnerUp(MakeEngine());
  forced.ring_slots = 2;
  forced.slots_in_flight = 1;
  engine_ = MakeForcingEngine(forced.ToJson());
  const fusebox_ffn_desc desc = Desc();
  fusebox_op* op = nullptr;
  EXPECT_EQ(fusebox_ffn_create(engine_.get(), &desc, &op), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(fusebox_last_error_message(),
              AllOf(HasSubstr("FUSEBOX_FORCE_PLAN: the forced plan"),
                    HasSubstr("is not legal on h200-sxm: ring_fits: "),
                    HasSubstr("take it out so that one is searched")));
}

TEST_F(OverridesTest, APlanForAnotherOpIsIgnoredWithOneLine) {
  engine_ = MakeForcingEngine(RunnerUp(MakeEngine()).ToJson());
  fusebox_ffn_desc desc = Desc();
  desc.hidden = 1024;
  for (int i = 0; i < 3; ++i) {
    const OpPointer op = MakeOp(engine_, desc);
    EXPECT_NE(op->ffn->Planned(0).report.chosen_by, ChosenBy::kForced);
  }
  EXPECT_EQ(NumLines("event=force_plan_ignored"), 1);
}

TEST_F(OverridesTest, ATextThatIsNoPlanFailsEngineCreation) {
  const std::string missing = cache_root_ + "/none.jsonl";
  const std::pair<std::string, std::string> cases[] = {
      {"c8x15 t8 up96x64", "FUSEBOX_FORCE_PLAN: line 1: plan: the text is not JSON from byte 1 on"},
      {"{}", "FUSEBOX_FORCE_PLAN: plan: problem.op is missing"},
      {"@" + missing, "FUSEBOX_FORCE_PLAN=@" + missing + ": opening "}};
  for (const auto& [value, sentence] : cases) {
    const absl::Status status = TryForcing(value);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << value;
    EXPECT_THAT(std::string(status.message()), HasSubstr(sentence));
  }
}

TEST_F(OverridesTest, AnUneditedCopyGivesTheBuiltInKernels) {
  EXPECT_EQ(DigestOf(MakeEngineOfTemplates()), DigestOf(MakeEngine()));
  EXPECT_EQ(NumLines("event=template_dir"), 1);
}

TEST_F(OverridesTest, AnEditedHeaderGivesAnotherDigest) {
  const std::string built_in = DigestOf(MakeEngine());
  { std::ofstream(templates_ + "/kernels/ffn.cuh", std::ios::app) << "// edited\n"; }
  const std::string edited = DigestOf(MakeEngineOfTemplates());
  EXPECT_NE(edited, built_in);
  EXPECT_EQ(edited, DigestOf(MakeEngineOfTemplates()));
}

TEST_F(OverridesTest, AnAddedHeaderCanBeIncluded) {
  { std::ofstream(templates_ + "/kernels/probe.cuh") << "#pragma once\n"; }
  {
    std::ofstream(templates_ + "/kernels/ffn.cuh", std::ios::app)
        << "\n#include \"kernels_templates/kernels/probe.cuh\"\n";
  }
  engine_ = MakeEngineOfTemplates();
  op_ = MakeOp(engine_);
  EXPECT_TRUE(op_->ffn->Planned(0).source.headers.Find("kernels_templates/kernels/probe.cuh").ok());
}

TEST_F(OverridesTest, TemplatesAreReadAtCreationAlone) {
  engine_ = MakeEngineOfTemplates();
  fs::remove_all(templates_);
  op_ = MakeOp(engine_);
  EXPECT_TRUE(op_->ffn->IsServed(0));
}

TEST_F(OverridesTest, AFolderThatIsMissingOrLacksAFileFailsEngineCreation) {
  fs::remove(templates_ + "/ptx/wgmma.cuh");
  absl::Status status = TryTemplates();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("FUSEBOX_TEMPLATE_DIR=" + templates_ +
                              ": the folder lacks ptx/wgmma.cuh of the "),
                    HasSubstr("name a whole copy of kernels_templates")));
  fs::remove_all(templates_);
  status = TryTemplates();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("and ", TemplateSet::Embedded().files().size() - 1, " more")));
}

TEST_F(OverridesTest, ParametersThatTheHostFillsOtherwiseFailEngineCreation) {
  { std::ofstream(templates_ + "/abi/kernel_params.h", std::ios::app) << "// edited\n"; }
  EXPECT_THAT(std::string(TryTemplates().message()),
              HasSubstr("abi/kernel_params.h is not the one that this library was built with"));
}

TEST_F(OverridesTest, APlaceholderThatIsGoneFailsTheOp) {
  { std::ofstream(templates_ + "/entry/ffn.cu.in") << "// nothing to fill\n"; }
  engine_ = MakeEngineOfTemplates();
  const fusebox_ffn_desc desc = Desc();
  fusebox_op* op = nullptr;
  EXPECT_EQ(fusebox_ffn_create(engine_.get(), &desc, &op), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_THAT(fusebox_last_error_message(), HasSubstr("has no placeholder in the template"));
}

}  // namespace
}  // namespace fusebox
