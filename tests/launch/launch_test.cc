#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/driver/cuda_status.h"
#include "runtime/launch/kernel_launch.h"
#include "runtime/launch/loaded_kernel.h"
#include "runtime/launch/tensor_map.h"
#include "runtime/launch/workspace_table.h"
#include "src/base/status.h"
#include "tests/compile/small_kernel.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

class LoadedKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = &FakeDriver::Reset();
    context_ = *PrimaryContext::Retain(driver_->Api(), 0);
  }

  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(const KernelSource& source) {
    return LoadedKernel::Load(context_, source, MadeUpKernel());
  }

  FakeDriver* driver_ = nullptr;
  std::shared_ptr<PrimaryContext> context_;
};

TEST_F(LoadedKernelTest, SetsAttributesAndLeavesNothingForTheFirstLaunch) {
  const auto kernel = Load(SmallKernel());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(driver_->function_attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES], 200000);
  EXPECT_EQ(driver_->function_attributes.count(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
            0u);
  EXPECT_EQ(driver_->num_relaxed_loads, 1);
  EXPECT_EQ(FakeContextDepth(), 0);
}

TEST_F(LoadedKernelTest, AsksForClustersBeyondThePortableEight) {
  KernelSource source = SmallKernel();
  source.launch.cluster_size = 16;
  ASSERT_TRUE(Load(source).ok());
  EXPECT_EQ(driver_->function_attributes[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED], 1);
}

TEST_F(LoadedKernelTest, RefusesAKernelWhoseClustersAreNotAllResident) {
  driver_->max_active_clusters = 1;  // two are needed
  const auto kernel = Load(SmallKernel());
  ASSERT_TRUE(IsDeclined(kernel.status()));
  EXPECT_THAT(std::string(kernel.status().message()),
              HasSubstr("co_resident: small_0 needs 2 clusters of 8 CTAs"));
  EXPECT_EQ(driver_->num_libraries, 0);
}

TEST_F(LoadedKernelTest, TakesOneClusterWhereTheOthersMayFollowInWaves) {
  driver_->max_active_clusters = 1;
  const auto kernel =
      LoadedKernel::Load(context_, SmallKernel(), MadeUpKernel(), Residency::kOneCluster);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->max_active_clusters(), 1);
  driver_->max_active_clusters = 0;
  EXPECT_TRUE(
      IsDeclined(LoadedKernel::Load(context_, SmallKernel(), MadeUpKernel(), Residency::kOneCluster)
                     .status()));
}

TEST_F(LoadedKernelTest, NeverTakesACooperativeKernelInWaves) {
  KernelSource source = SmallKernel();
  source.launch.cooperation = Cooperation::kGrid;
  driver_->max_active_clusters = 1;  // two are needed
  const auto kernel = LoadedKernel::Load(context_, source, MadeUpKernel(), Residency::kOneCluster);
  ASSERT_TRUE(IsDeclined(kernel.status())) << kernel.status();
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("needs 2 clusters of 8 CTAs"));
  driver_->max_active_clusters = 2;
  EXPECT_TRUE(
      LoadedKernel::Load(context_, source, MadeUpKernel(), Residency::kOneCluster).status().ok());
}

TEST_F(LoadedKernelTest, RefusesAKernelWithLocalMemory) {
  driver_->local_bytes = 40;
  const auto kernel = Load(SmallKernel());
  ASSERT_TRUE(absl::IsFailedPrecondition(kernel.status()));
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("no_spill: small_0 uses 40 bytes"));
}

TEST_F(LoadedKernelTest, TellsACubinThatTheDriverRefusesFromOtherFailures) {
  CompiledKernel kernel = MadeUpKernel();
  kernel.cubin = "unloadable";
  EXPECT_TRUE(absl::IsDataLoss(LoadedKernel::Load(context_, SmallKernel(), kernel).status()));
  driver_->failures["cuLibraryLoadData"] = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_TRUE(absl::IsResourceExhausted(Load(SmallKernel()).status()));
  driver_->failures["cuLibraryLoadData"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_TRUE(IsCudaFailure(Load(SmallKernel()).status()));
}

TEST_F(LoadedKernelTest, ReleasesEverythingAfterEachFailure) {
  for (const char* call : {"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction",
                           "cuFuncSetAttribute", "cuOccupancyMaxActiveClusters"}) {
    driver_->failures = {{call, CUDA_ERROR_UNKNOWN}};
    EXPECT_FALSE(Load(SmallKernel()).ok()) << call;
    EXPECT_EQ(driver_->num_libraries, 0) << call;
    EXPECT_EQ(FakeContextDepth(), 0) << call;
  }
}

TEST_F(LoadedKernelTest, UnloadsBeforeItReleasesTheContext) {
  {
    const auto kernel = Load(SmallKernel());
    ASSERT_TRUE(kernel.ok());
    context_.reset();
    EXPECT_EQ(driver_->num_contexts, 1);
  }
  EXPECT_EQ(driver_->num_libraries, 0);
  EXPECT_EQ(driver_->num_contexts, 0);
}

TEST_F(LoadedKernelTest, LaunchesWithTheAttributesOfItsPlan) {
  const auto kernel = Load(SmallKernel());
  ASSERT_TRUE(kernel.ok());
  FfnParams params = {};
  params.tokens = 5;
  CUstream const stream = reinterpret_cast<CUstream>(0x77);
  ASSERT_EQ(LaunchKernel(context_->api(), **kernel, params, ProgrammaticOverlap::kAllowed, stream),
            CUDA_SUCCESS);
  ASSERT_EQ(driver_->launches.size(), 1u);
  const FakeLaunch& launch = driver_->launches[0];
  EXPECT_EQ(launch.grid, 16u);
  EXPECT_EQ(launch.cluster, 8u);
  EXPECT_EQ(launch.threads, 384u);
  EXPECT_EQ(launch.smem, 200000u);
  EXPECT_FALSE(launch.cooperative);  // would forbid the overlap that PDL is for
  EXPECT_TRUE(launch.programmatic);
  EXPECT_EQ(launch.stream, stream);
  EXPECT_EQ(launch.params.tokens, 5u);
}

TEST_F(LoadedKernelTest, KeepsToTheStreamsOrderWhenOverlapIsForbidden) {
  const auto kernel = Load(SmallKernel());
  ASSERT_TRUE(kernel.ok());
  ASSERT_EQ(LaunchKernel(context_->api(), **kernel, {}, ProgrammaticOverlap::kForbidden, nullptr),
            CUDA_SUCCESS);
  EXPECT_FALSE(driver_->launches[0].programmatic);
}

TEST(TensorMapTest, DescribesARowMajorMatrix) {
  const auto api = FakeDriver::Reset().Api();
  TensorMap map;
  const void* const data = reinterpret_cast<const void*>(0x1000);
  ASSERT_EQ(EncodeTensorMap(*api, {.data = data, .rows = 100, .columns = 4096, .row_stride = 4104},
                            96, &map),
            CUDA_SUCCESS);
  const FakeTensorMap asked = ReadFakeMap(map);
  EXPECT_EQ(asked.address, data);
  EXPECT_EQ(asked.columns, 4096u);
  EXPECT_EQ(asked.rows, 100u);
  EXPECT_EQ(asked.row_bytes, 4104u * 2);
  EXPECT_EQ(asked.box_columns, 64u);
  EXPECT_EQ(asked.box_rows, 96u);
  EXPECT_EQ(asked.swizzle, static_cast<unsigned int>(CU_TENSOR_MAP_SWIZZLE_128B));
  EXPECT_EQ(asked.l2_promotion, static_cast<unsigned int>(CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
}

TEST(TensorMapTest, NamesTheDtype) {
  const auto api = FakeDriver::Reset().Api();
  const struct {
    DType dtype;
    CUtensorMapDataType expected;
  } cases[] = {{DType::kBf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
               {DType::kFp16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16}};
  for (const auto& [dtype, expected] : cases) {
    TensorMap map;
    ASSERT_EQ(EncodeTensorMap(*api,
                              {.data = reinterpret_cast<const void*>(0x1000),
                               .rows = 8,
                               .columns = 64,
                               .row_stride = 64,
                               .dtype = dtype},
                              8, &map),
              CUDA_SUCCESS);
    EXPECT_EQ(ReadFakeMap(map).dtype, static_cast<unsigned int>(expected));
  }
}

TEST(WorkspaceTableTest, KnowsWhatWasRecordedAndNothingElse) {
  auto table = std::make_unique<WorkspaceTable>();
  const auto at = [](uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_EQ(table->RecordedBytes(at(0x1000)), 0u);
  table->Record(at(0x1000), 4096);
  EXPECT_EQ(table->RecordedBytes(at(0x1000)), 4096u);
  EXPECT_EQ(table->RecordedBytes(at(0x1100)), 0u);
  table->Record(at(0x1000), 512);
  EXPECT_EQ(table->RecordedBytes(at(0x1000)), 512u);
}

TEST(WorkspaceTableTest, ForgetsNoneWhileItIsNotNearlyFull) {
  auto table = std::make_unique<WorkspaceTable>();
  const auto at = [](uintptr_t i) { return reinterpret_cast<const void*>(i << 12); };
  for (uintptr_t i = 1; i <= WorkspaceTable::kCapacity / 2; ++i) table->Record(at(i), i);
  for (uintptr_t i = 1; i <= WorkspaceTable::kCapacity / 2; ++i) {
    ASSERT_EQ(table->RecordedBytes(at(i)), i);
  }
}

TEST(WorkspaceTableTest, ForgetsTheOldestOfMoreThanItHolds) {
  auto table = std::make_unique<WorkspaceTable>();
  const auto at = [](uintptr_t i) { return reinterpret_cast<const void*>(i << 12); };
  for (uintptr_t i = 1; i <= 4 * WorkspaceTable::kCapacity; ++i) {
    table->Record(at(i), i);
    ASSERT_EQ(table->RecordedBytes(at(i)), i);
    const size_t oldest = table->RecordedBytes(at(1));
    ASSERT_TRUE(oldest == 0 || oldest == 1) << "a size of another workspace";
  }
  EXPECT_EQ(table->RecordedBytes(at(1)), 0u);
}

TEST(WorkspaceTableTest, TakesRecordsFromManyThreads) {
  auto table = std::make_unique<WorkspaceTable>();
  std::vector<std::thread> threads;
  for (uintptr_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 1; i <= 200; ++i) {
        table->Record(reinterpret_cast<const void*>((t * 200 + i) << 8), 64);
        table->Record(reinterpret_cast<const void*>(uintptr_t{1} << 40), 32);  // contended
        EXPECT_EQ(table->RecordedBytes(reinterpret_cast<const void*>((t * 200 + i) << 8)), 64u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace fusebox
