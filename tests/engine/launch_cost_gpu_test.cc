// What a launch costs on the CPU with the real driver, beyond a bare cuLaunchKernelEx of the same
// kernel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusebox/fusebox.h"
#include "runtime/driver/device_query.h"
#include "runtime/engine/handles.h"
#include "runtime/launch/kernel_launch.h"
#include "tests/gpu/find_hopper.h"

namespace fusebox {
namespace {

constexpr int kBatches = 60;
constexpr int kLaunches =
    100;  // a batch fits the driver's queue, so that no launch waits for the GPU

class LaunchCostTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status found = FindHopper();
    if (!found.ok()) GTEST_SKIP() << found;
    const auto driver = LoadDriver();
    ASSERT_TRUE(driver.ok()) << driver.status();
    const auto device = QueryDevice(**driver, 0);
    ASSERT_TRUE(device.ok()) << device.status();
    driver_ = *driver;
    context_ = *PrimaryContext::Retain(driver_, device->device);
    ASSERT_EQ(driver_->CtxPushCurrent(context_->get()), CUDA_SUCCESS);
    cache_ = absl::StrCat(testing::TempDir(), "/fusebox_launch_cost-", getpid());
    MakeBinding();
  }

  void TearDown() override {
    if (driver_ == nullptr) return;
    (void)fusebox_binding_destroy(binding_);
    (void)fusebox_op_destroy(op_);
    (void)fusebox_engine_destroy(engine_);
    memory_.Reset();
    stream_.Reset();
    CUcontext popped = nullptr;
    (void)driver_->CtxPopCurrent(&popped);
    std::error_code error;
    std::filesystem::remove_all(cache_, error);
  }

  void MakeBinding() {
    constexpr int64_t kHidden = 1024;
    constexpr int64_t kIntermediate = 3072;
    constexpr int64_t kMatrixBytes = kHidden * kIntermediate * 2;
    fusebox_engine_options options = {.struct_size = sizeof(options), .cache_dirs = cache_.c_str()};
    options.compile_mode = FUSEBOX_COMPILE_BLOCK;
    ASSERT_EQ(fusebox_engine_create(&options, &engine_), FUSEBOX_OK)
        << fusebox_last_error_message();
    const fusebox_ffn_desc desc = {.struct_size = sizeof(desc),
                                   .hidden = kHidden,
                                   .intermediate = kIntermediate,
                                   .dtype = FUSEBOX_DTYPE_BF16,
                                   .activation = FUSEBOX_ACTIVATION_SILU,
                                   .gated = 1};
    ASSERT_EQ(fusebox_ffn_create(engine_, &desc, &op_), FUSEBOX_OK) << fusebox_last_error_message();
    const int32_t tokens = 8;
    ASSERT_EQ(fusebox_op_prepare(op_, &tokens, 1, FUSEBOX_PREPARE_BLOCK), FUSEBOX_OK)
        << fusebox_last_error_message();
    size_t workspace_bytes = 0;
    ASSERT_EQ(fusebox_op_workspace_size(op_, 0, &workspace_bytes), FUSEBOX_OK);

    CUstream stream = nullptr;
    ASSERT_EQ(driver_->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    stream_ = UniqueStream(driver_, stream);
    constexpr int64_t kActivationBytes = 64 * 1024;
    CUdeviceptr memory = 0;
    const size_t bytes = 3 * kMatrixBytes + 2 * kActivationBytes + workspace_bytes;
    ASSERT_EQ(driver_->MemAlloc(&memory, bytes), CUDA_SUCCESS);
    memory_ = UniqueMemory(driver_, memory);
    ASSERT_EQ(driver_->MemsetD8Async(memory, 0, bytes, stream), CUDA_SUCCESS);

    char* const base = reinterpret_cast<char*>(memory);
    const fusebox_ffn_weights weights = {
        .struct_size = sizeof(weights), .gate_up = base, .down = base + 2 * kMatrixBytes};
    ASSERT_EQ(fusebox_ffn_bind(op_, &weights, &binding_), FUSEBOX_OK)
        << fusebox_last_error_message();
    char* const activations = base + 3 * kMatrixBytes;
    args_ = {.struct_size = sizeof(args_),
             .tokens = 8,
             .x = activations,
             .y = activations + kActivationBytes,
             .workspace = activations + 2 * kActivationBytes,
             .workspace_bytes = workspace_bytes};
    ASSERT_EQ(fusebox_workspace_init(op_, args_.workspace, workspace_bytes, stream), FUSEBOX_OK)
        << fusebox_last_error_message();
  }

  // Median microseconds of one call over the batches.
  template <typename Function>
  double MedianMicroseconds(Function launch) {
    std::vector<double> batches;
    for (int batch = 0; batch < kBatches; ++batch) {
      EXPECT_EQ(driver_->StreamSynchronize(stream_.get()), CUDA_SUCCESS);
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kLaunches; ++i) launch();
      const std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      batches.push_back(elapsed.count() / kLaunches);
    }
    std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
    return batches[kBatches / 2];
  }

  std::shared_ptr<const DriverApi> driver_;
  std::shared_ptr<PrimaryContext> context_;
  std::string cache_;
  UniqueStream stream_;
  UniqueMemory memory_;
  fusebox_engine* engine_ = nullptr;
  fusebox_op* op_ = nullptr;
  fusebox_binding* binding_ = nullptr;
  fusebox_ffn_args args_ = {};
};

TEST_F(LaunchCostTest, ALaunchCostsUnderTwoMicrosecondsBeyondABareOne) {
  // A bare launch of what Fusebox launches: its own parameters, without checks and without x's
  // tensor map.
  FfnParams params = binding_->ffn->Params(0);
  params.x = params.down;
  const LoadedKernel& kernel = *op_->ffn->Kernel(0);
  const auto bare = [&] {
    (void)LaunchKernel(*driver_, kernel, params, ProgrammaticOverlap::kAllowed, stream_.get());
  };
  const auto whole = [&] { (void)fusebox_ffn_launch(binding_, &args_, stream_.get()); };
  (void)MedianMicroseconds(bare);
  (void)MedianMicroseconds(whole);
  const double bare_us = MedianMicroseconds(bare);
  const double whole_us = MedianMicroseconds(whole);
  ASSERT_EQ(driver_->StreamSynchronize(stream_.get()), CUDA_SUCCESS);
  std::printf("launch: %.2f us, bare cuLaunchKernelEx %.2f us, beyond it %.2f us\n", whole_us,
              bare_us, whole_us - bare_us);
  RecordProperty("launch_us", std::to_string(whole_us));
  RecordProperty("bare_us", std::to_string(bare_us));
  EXPECT_LT(whole_us - bare_us, 2.0);
}

}  // namespace
}  // namespace fusebox
