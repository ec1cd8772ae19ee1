// The binary interface: layouts that callers have compiled in, and a library that can be loaded and
// unloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "fusebox/fusebox.h"

namespace {

// What callers have compiled in. A change here is a change of the interface: raise the version with
// it, and keep the sizes of older versions known (runtime/engine/struct_size.h).
static_assert(FUSEBOX_VERSION_MAJOR == 0 && FUSEBOX_VERSION_MINOR == 2);

// Sizes and offsets on 64-bit machines: fields are only ever appended.
static_assert(sizeof(fusebox_status) == 4 && sizeof(fusebox_dtype) == 4, "enums travel as int32_t");
static_assert(sizeof(fusebox_engine_options) == 64);
static_assert(offsetof(fusebox_engine_options, device_profile) == 16);
static_assert(offsetof(fusebox_engine_options, log_callback) == 48);
static_assert(sizeof(fusebox_engine_stats_values) == 8 + 15 * 8);
static_assert(sizeof(fusebox_ffn_desc) == 72);
static_assert(offsetof(fusebox_ffn_desc, dtype) == 24);
static_assert(offsetof(fusebox_ffn_desc, flags) == 64);
static_assert(sizeof(fusebox_ffn_weights) == 136);
static_assert(offsetof(fusebox_ffn_weights, down_ld) == 64);
static_assert(offsetof(fusebox_ffn_weights, gate_up_bias) == 72);  // the size of 0.1
static_assert(offsetof(fusebox_ffn_weights, eps) == 128);
static_assert(sizeof(fusebox_ffn_args) == 96);
static_assert(offsetof(fusebox_ffn_args, workspace_bytes) == 72);
static_assert(offsetof(fusebox_ffn_args, residual_out) == 80);  // the size of 0.1
static_assert(offsetof(fusebox_ffn_args, residual_out_stride) == 88);

// Values that callers have compiled in.
static_assert(FUSEBOX_OK == 0 && FUSEBOX_DECLINED == 1 && FUSEBOX_NOT_READY == 2 &&
              FUSEBOX_INVALID_ARGUMENT == 3 && FUSEBOX_UNAVAILABLE == 4 &&
              FUSEBOX_COMPILE_FAILED == 5 && FUSEBOX_CUDA_FAILED == 6 &&
              FUSEBOX_OUT_OF_MEMORY == 7 && FUSEBOX_INTERNAL == 8);
static_assert(FUSEBOX_DTYPE_BF16 == 1 && FUSEBOX_DTYPE_FP16 == 2);
static_assert(FUSEBOX_ACTIVATION_SILU == 1 && FUSEBOX_ACTIVATION_RELU_SQUARED == 5);
static_assert(FUSEBOX_NORM_NONE == 0 && FUSEBOX_NORM_RMS == 1 && FUSEBOX_NORM_RMS_PLUS_ONE == 2 &&
              FUSEBOX_NORM_LAYER == 3);
static_assert(FUSEBOX_BIAS_UP == 1 && FUSEBOX_BIAS_DOWN == 2);
static_assert(FUSEBOX_ROUNDING_VLLM == 0 && FUSEBOX_ROUNDING_HF == 1);
static_assert(FUSEBOX_RESIDUAL_NONE == 0 && FUSEBOX_RESIDUAL_ADD_BEFORE_NORM == 1 &&
              FUSEBOX_RESIDUAL_ADD_AFTER == 2 && FUSEBOX_RESIDUAL_SANDWICH == 3);

bool IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.size() >= path.size() && line.ends_with(path)) return true;
  }
  return false;
}

// Loads, uses and unloads the library; the path comes from the build.
TEST(AbiTest, TheLibraryUnloads) {
  const char* const path = FUSEBOX_LIBRARY_PATH;
  for (int round = 0; round < 2; ++round) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto create =
        reinterpret_cast<decltype(&fusebox_engine_create)>(dlsym(library, "fusebox_engine_create"));
    const auto destroy = reinterpret_cast<decltype(&fusebox_engine_destroy)>(
        dlsym(library, "fusebox_engine_destroy"));
    ASSERT_TRUE(create != nullptr && destroy != nullptr);
    fusebox_engine_options options = {.struct_size = sizeof(options), .device_ordinal = -1};
    options.device_profile = "h200-sxm";
    options.log_level = FUSEBOX_LOG_OFF;
    fusebox_engine* engine = nullptr;
    ASSERT_EQ(create(&options, &engine), FUSEBOX_OK);
    ASSERT_EQ(destroy(engine), FUSEBOX_OK);
    ASSERT_TRUE(IsMapped(path));
    ASSERT_EQ(dlclose(library), 0);
    EXPECT_FALSE(IsMapped(path));
  }
}

}  // namespace
