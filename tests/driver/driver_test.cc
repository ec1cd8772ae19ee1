#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/driver/cuda_status.h"
#include "runtime/driver/device_query.h"
#include "runtime/driver/driver_api.h"
#include "runtime/driver/handles.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

TEST(LoadDriverTest, SaysWhatIsMissingWithoutADriver) {
  const auto api = LoadDriverFrom("libfusebox_no_such_driver.so.1");
  ASSERT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()),
              HasSubstr("install the NVIDIA driver; without one Fusebox only plans and compiles"));
}

TEST(LoadDriverTest, RefusesALibraryThatIsNoDriver) {
  const auto api = LoadDriverFrom("libc.so.6");
  ASSERT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("has no cuInit"));
}

TEST(CudaStatusTest, NamesCallCodeAndText) {
  const auto api = FakeDriver::Reset().Api();
  const absl::Status status = CudaStatus(*api, CUDA_ERROR_ILLEGAL_ADDRESS, "cuLaunchKernelEx");
  EXPECT_EQ(
      status.message(),
      "cuLaunchKernelEx failed with 700 CUDA_ERROR_FAKE: made up; a kernel of this process failed "
      "before, and its context serves no more: restart the process; compute-sanitizer names "
      "the kernel");
  EXPECT_TRUE(IsCudaFailure(status));
}

TEST(CudaStatusTest, TellsTheMachinesFaultsFromFailedCalls) {
  const auto api = FakeDriver::Reset().Api();
  EXPECT_TRUE(CudaStatus(*api, CUDA_SUCCESS, "f").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(CudaStatus(*api, CUDA_ERROR_OUT_OF_MEMORY, "f")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CudaStatus(*api, CUDA_ERROR_NO_DEVICE, "f")));
  EXPECT_FALSE(IsCudaFailure(CudaStatus(*api, CUDA_ERROR_NO_DEVICE, "f")));
}

TEST(DeviceQueryTest, ReadsAnH200) {
  const auto api = FakeDriver::Reset().Api();
  const auto device = QueryDevice(*api, 0);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->name, "NVIDIA H200");
  EXPECT_EQ(device->num_sms, 132);
  EXPECT_EQ(device->smem_per_cta_bytes, 232448);
  EXPECT_TRUE(CheckServed(*device).ok());
}

TEST(DeviceQueryTest, RefusesAnOrdinalThatDoesNotExist) {
  FakeDriver::Reset().device_count = 2;
  const auto device = QueryDevice(*FakeDriver::Instance().Api(), 2);
  ASSERT_TRUE(absl::IsFailedPrecondition(device.status()));
  EXPECT_EQ(device.status().message(),
            "device: ordinal 2 does not exist; the driver reports 2 GPU(s), numbered from 0");
}

TEST(DeviceQueryTest, SaysThatThereIsNoGpu) {
  FakeDriver::Reset().device_count = 0;
  EXPECT_TRUE(absl::IsFailedPrecondition(QueryDevice(*FakeDriver::Instance().Api(), 0).status()));
}

TEST(DeviceQueryTest, ServesHopperOnly) {
  const struct {
    const char* name;
    int major;
    int minor;
  } cases[] = {
      {"NVIDIA A100", 8, 0}, {"NVIDIA L40S", 8, 9}, {"NVIDIA B200", 10, 0}, {"NVIDIA GB10", 12, 1}};
  for (const auto& [name, major, minor] : cases) {
    FakeDriver& driver = FakeDriver::Reset();
    driver.device_name = name;
    driver.compute_major = major;
    driver.compute_minor = minor;
    const absl::Status status = CheckServed(*QueryDevice(*driver.Api(), 0));
    ASSERT_TRUE(absl::IsFailedPrecondition(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    EXPECT_THAT(std::string(status.message()), HasSubstr("Fusebox serves 9.0"));
  }
}

TEST(HandlesTest, ReleaseOnceAndMoveWell) {
  FakeDriver& driver = FakeDriver::Reset();
  const auto api = driver.Api();
  driver.num_libraries = 2;
  {
    UniqueLibrary first(api, reinterpret_cast<CUlibrary>(1));
    UniqueLibrary second = std::move(first);
    EXPECT_FALSE(first);
    UniqueLibrary third(api, reinterpret_cast<CUlibrary>(2));
    third = std::move(second);
    EXPECT_EQ(driver.num_libraries, 1);
  }
  EXPECT_EQ(driver.num_libraries, 0);
}

TEST(HandlesTest, ContextIsCurrentOnlyInItsScope) {
  FakeDriver& driver = FakeDriver::Reset();
  {
    const auto context = PrimaryContext::Retain(driver.Api(), 0);
    ASSERT_TRUE(context.ok());
    EXPECT_EQ(driver.num_contexts, 1);
    {
      const auto scoped = ScopedContext::Enter(**context);
      ASSERT_TRUE(scoped.ok());
      EXPECT_EQ(FakeContextDepth(), 1);
    }
    EXPECT_EQ(FakeContextDepth(), 0);
  }
  EXPECT_EQ(driver.num_contexts, 0);
}

}  // namespace
}  // namespace fusebox
