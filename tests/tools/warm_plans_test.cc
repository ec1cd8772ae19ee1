// `fusebox warm --plans` end to end on a machine with NVRTC and without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

class WarmPlansTest : public ::testing::Test {
 protected:
  // Plans of one op and tile, as `plan --sample` prints them.
  std::string Sample() const {
    return RunCommand({"plan", "--gpu", "h200-sxm", "--hidden", "576", "--intermediate", "1536",
                       "--tokens", "8", "--sample", "4"})
        .out;
  }

  CommandResult Warm(const std::string& plans, const KnobSettings& knobs = {}) const {
    WriteText(folder_.path("plans.jsonl"), plans);
    return RunCommand({"warm", "--plans", folder_.path("plans.jsonl"), "--gpu", "h200-sxm",
                       "--cache-dir", folder_.path("cache"), "--json"},
                      knobs);
  }

  TemporaryFolder folder_;
};

TEST_F(WarmPlansTest, CompilesEachPlanAloneAndFindsItAgain) {
  const std::string sample = Sample();
  const CommandResult first = Warm(sample + sample);  // each plan twice
  ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
  const nlohmann::json made = first.Json();
  EXPECT_EQ(made["totals"]["compiled"], 4);
  ASSERT_EQ(made["kernels"].size(), 4u);
  std::set<std::string> plans;
  for (const auto& kernel : made["kernels"]) {
    plans.insert(kernel["plan"].get<std::string>());
    EXPECT_EQ(kernel["lower_rungs"].size(), 0u) << kernel;  // what is given stands alone
    EXPECT_GT(kernel["predicted_us"], kernel["floor_us"]) << kernel;
  }
  EXPECT_EQ(plans.size(), 4u);

  const CommandResult second = Warm(sample, {{"FUSEBOX_NVRTC_PATH", "/nonexistent"}});
  ASSERT_EQ(second.exit_code, 0) << second.err << second.out;
  EXPECT_EQ(second.Json()["totals"]["cached"], 4);
}

TEST_F(WarmPlansTest, AnIllegalPlanIsDeclinedByItsRule) {
  const std::string line = Sample().substr(0, Sample().find('\n'));
  auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  json["plan"]["ring_slots"] = 2;
  json["plan"]["slots_in_flight"] = 2;
  const CommandResult result = Warm(json.dump() + "\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["totals"]["declined"], 1);
  EXPECT_EQ(result.Json()["kernels"][0]["rule"], "ring_fits");
}

TEST_F(WarmPlansTest, AnEmptyFileIsAUsageError) {
  const CommandResult result = Warm("\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::HasSubstr("has no plan; `fusebox plan --sample` prints some"));
}

}  // namespace
}  // namespace fusebox
