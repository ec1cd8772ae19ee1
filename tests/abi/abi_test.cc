// A library that can be closed and opened again, whichever thread used it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

#include "fusebox/fusebox.h"

namespace {

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
