#include "src/device/device_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "src/device/embedded_profiles.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TextOf(std::string_view name) {
  for (const EmbeddedProfile& profile : EmbeddedProfiles()) {
    if (absl::StrContains(profile.path, name)) return std::string(profile.text);
  }
  return "";
}

TEST(DeviceProfilesTest, ShipsTheHoppers) {
  EXPECT_THAT(DeviceProfileNames(), ElementsAre("gh200", "h100-pcie", "h100-sxm", "h200-sxm"));
}

TEST(DeviceProfilesTest, EveryProfileParsesAndNamesEachNumbersSource) {
  for (std::string_view name : DeviceProfileNames()) {
    const absl::StatusOr<DeviceSpec> spec = FindDeviceProfile(name);
    ASSERT_TRUE(spec.ok()) << name << ": " << spec.status();
    EXPECT_EQ(spec->name, name);
    EXPECT_EQ(spec->architecture, "sm_90a");
    EXPECT_GT(spec->sources.size(), 35u);
    const bool was_measured = name == "h200-sxm";
    for (const auto& [path, source] : spec->sources) {
      EXPECT_GT(source.size(), 10u) << name << " " << path;
      EXPECT_TRUE(was_measured || !absl::StrContains(source, "measured 2026") ||
                  absl::StartsWith(source, "derived: "))
          << name << " was never measured, but " << path << " says: " << source;
    }
  }
}

TEST(DeviceProfilesTest, H200HasTheMeasuredTable) {
  const DeviceSpec spec = FindDeviceProfile("h200-sxm").value();
  EXPECT_EQ(spec.num_sms, 132);
  EXPECT_EQ(spec.hbm_read_gb_per_s, 4585);
  EXPECT_EQ(spec.weight_stream_gb_per_s, 4545);
  const int kResident[] = {132, 132, 120, 120, 112};
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    const ClusterCapacity* cluster = spec.FindCluster(kClusterSizes[i]);
    ASSERT_NE(cluster, nullptr);
    EXPECT_EQ(cluster->resident_ctas, kResident[i]);
    EXPECT_EQ(cluster->resident_ctas % kClusterSizes[i], 0);
  }
  EXPECT_EQ(spec.FindCluster(3), nullptr);
}

TEST(DeviceProfilesTest, AnUnknownNameListsTheKnown) {
  const absl::Status status = FindDeviceProfile("a100").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "device profile: \"a100\" is not known; known: gh200, h100-pcie, h100-sxm, h200-sxm");
}

TEST(DeviceProfilesTest, AProfileMustBeWholeAndSane) {
  const std::string good = TextOf("h200-sxm");
  const struct {
    std::string from, to, sentence;
  } kCases[] = {
      {"\"num_sms\": {\"value\": 132", "\"num_sms\": {\"value\": 0", "num_sms.value is 0"},
      {"\"num_sms\": {\"value\": 132", "\"num_sms\": {\"value\": \"132\"",
       "num_sms.value is a string"},
      {"\"num_sms\"", "\"num_smss\"", "num_sms.value is missing"},
      {"\"architecture\": \"sm_90a\",", "\"architecture\": \"sm_90a\", \"color\": \"green\",",
       "color is no field that is known"},
  };
  for (const auto& c : kCases) {
    const std::string text = absl::StrReplaceAll(good, {{c.from, c.to}});
    ASSERT_NE(text, good) << c.from;
    EXPECT_THAT(std::string(DeviceSpec::FromJson(text).status().message()), HasSubstr(c.sentence));
  }
}

}  // namespace
}  // namespace fusebox
