// The binary interface: layouts that callers have compiled in, and a library that can be closed
// and opened again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <thread>

#include "fusebox/fusebox.h"

namespace {

// What callers have compiled in. A change here is a change of the interface: raise the version with
// it, and keep the sizes of older versions known (runtime/engine/struct_size.h).
static_assert(FUSEBOX_VERSION_MAJOR == 0 && FUSEBOX_VERSION_MINOR == 3);

// Sizes and offsets on 64-bit machines: fields are only ever appended.
static_assert(sizeof(fusebox_status) == 4 && sizeof(fusebox_dtype) == 4, "enums travel as int32_t");
static_assert(sizeof(fusebox_engine_options) == 64);
static_assert(offsetof(fusebox_engine_options, device_profile) == 16);
static_assert(offsetof(fusebox_engine_options, log_callback) == 48);
static_assert(sizeof(fusebox_engine_stats_values) == 8 + 17 * 8);
static_assert(offsetof(fusebox_engine_stats_values, shadow_launches) == 128);  // the size of 0.2
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

// Loads the library, uses it and closes it; the path comes from the build.
void UseAndClose() {
  void* const library = dlopen(FUSEBOX_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto create =
      reinterpret_cast<decltype(&fusebox_engine_create)>(dlsym(library, "fusebox_engine_create"));
  const auto destroy =
      reinterpret_cast<decltype(&fusebox_engine_destroy)>(dlsym(library, "fusebox_engine_destroy"));
  const auto create_ffn =
      reinterpret_cast<decltype(&fusebox_ffn_create)>(dlsym(library, "fusebox_ffn_create"));
  const auto destroy_op =
      reinterpret_cast<decltype(&fusebox_op_destroy)>(dlsym(library, "fusebox_op_destroy"));
  const auto prepare =
      reinterpret_cast<decltype(&fusebox_op_prepare)>(dlsym(library, "fusebox_op_prepare"));
  const auto wait =
      reinterpret_cast<decltype(&fusebox_engine_wait)>(dlsym(library, "fusebox_engine_wait"));
  ASSERT_TRUE(create && destroy && create_ffn && destroy_op && prepare && wait);
  fusebox_engine_options options = {.struct_size = sizeof(options), .device_ordinal = -1};
  options.device_profile = "h200-sxm";
  options.cache_dirs = "";
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  options.log_level = FUSEBOX_LOG_OFF;
  fusebox_engine* engine = nullptr;
  ASSERT_EQ(create(&options, &engine), FUSEBOX_OK);
  const fusebox_ffn_desc desc = {.struct_size = sizeof(desc),
                                 .hidden = 512,
                                 .intermediate = 1024,
                                 .dtype = FUSEBOX_DTYPE_BF16,
                                 .activation = FUSEBOX_ACTIVATION_SILU,
                                 .gated = 1};
  fusebox_op* op = nullptr;
  ASSERT_EQ(create_ffn(engine, &desc, &op), FUSEBOX_OK);
  const int32_t tokens = 8;
  EXPECT_EQ(prepare(op, &tokens, 1, FUSEBOX_PREPARE_BACKGROUND), FUSEBOX_OK);
  EXPECT_EQ(wait(engine, -1), FUSEBOX_OK);  // waiting makes a dependency's thread-local state
  EXPECT_EQ(destroy_op(op), FUSEBOX_OK);
  EXPECT_EQ(destroy(engine), FUSEBOX_OK);
  EXPECT_EQ(dlclose(library), 0);
}

// The lowest key that is free.
pthread_key_t NextKey() {
  pthread_key_t key = 0;
  EXPECT_EQ(pthread_key_create(&key, nullptr), 0);
  pthread_key_delete(key);
  return key;
}

TEST(AbiTest, AThreadThatUsedTheLibraryMayExitAfterDlclose) {
  std::thread([] { UseAndClose(); }).join();  // its thread-local destructors are the library's code
}

TEST(AbiTest, ClosingAndOpeningAgainTakesNoMorePthreadKeys) {
  UseAndClose();
  const pthread_key_t before = NextKey();
  for (int round = 0; round < 100; ++round) std::thread([] { UseAndClose(); }).join();
  EXPECT_EQ(NextKey(), before);
}

}  // namespace
