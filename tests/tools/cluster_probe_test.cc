#include "runtime/tools/cluster_probe.h"

#include <gtest/gtest.h>

#include "runtime/compile/nvrtc_api.h"
#include "runtime/config/config.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

TEST(ClusterProbeTest, AsksForEverySizeAndLeavesNothingBehind) {
  const absl::StatusOr<Config> config = ReadConfig(Environment::OfProcess());
  ASSERT_TRUE(config.ok()) << config.status();
  const auto nvrtc = LoadNvrtc(config->toolkit_places, config->nvrtc_path);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status();
  FakeDriver& driver = FakeDriver::Reset();
  driver.max_active_clusters = 7;
  const auto api = driver.Api();
  const absl::StatusOr<DeviceReport> device = QueryDevice(*api, /*ordinal=*/0);
  ASSERT_TRUE(device.ok()) << device.status();

  const auto counts = CountResidentClusters(api, *device, NvrtcCompiler(*nvrtc));
  ASSERT_TRUE(counts.ok()) << counts.status();
  ASSERT_EQ(counts->size(), 5u);
  EXPECT_EQ(counts->front().cluster_size, 1);
  EXPECT_EQ(counts->back().cluster_size, 16);
  for (const ClusterCount& count : *counts) EXPECT_EQ(count.clusters, 7);
  EXPECT_EQ(driver.loaded_cubins.size(), 1u);
  EXPECT_TRUE(driver.launches.empty());
  EXPECT_EQ(driver.num_libraries, 0);
  EXPECT_EQ(driver.num_contexts, 0);
}

TEST(ClusterProbeTest, AFailureOfTheDriverIsASentence) {
  const absl::StatusOr<Config> config = ReadConfig(Environment::OfProcess());
  ASSERT_TRUE(config.ok()) << config.status();
  const auto nvrtc = LoadNvrtc(config->toolkit_places, config->nvrtc_path);
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status();
  FakeDriver& driver = FakeDriver::Reset();
  driver.failures["cuOccupancyMaxActiveClusters"] = CUDA_ERROR_UNKNOWN;
  const auto api = driver.Api();
  const absl::StatusOr<DeviceReport> device = QueryDevice(*api, /*ordinal=*/0);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto counts = CountResidentClusters(api, *device, NvrtcCompiler(*nvrtc));
  EXPECT_NE(counts.status().message().find("cuOccupancyMaxActiveClusters"), std::string::npos);
}

}  // namespace
}  // namespace fusebox
