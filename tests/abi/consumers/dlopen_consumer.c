/* A C99 program that opens libfusebox.so at run time, as plugins do: symbols stay its own
 * (RTLD_LOCAL), it is closed and opened again. usage: dlopen_consumer LIBRARY. Exits 0 when all
 * went as documented. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "fusebox/fusebox.h"

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  printf("failed: %s\n", what);
}

static struct {
  const char* (*version)(void);
  const char* (*last_error_message)(void);
  fusebox_status (*engine_create)(const fusebox_engine_options*, fusebox_engine**);
  fusebox_status (*engine_destroy)(fusebox_engine*);
  fusebox_status (*ffn_create)(fusebox_engine*, const fusebox_ffn_desc*, fusebox_op**);
  fusebox_status (*ffn_bind)(fusebox_op*, const fusebox_ffn_weights*, fusebox_binding**);
  fusebox_status (*op_prepare)(fusebox_op*, const int32_t*, size_t, fusebox_prepare_mode);
  fusebox_status (*op_destroy)(fusebox_op*);
} api;

/* POSIX's way to turn dlsym's object pointer into a function's. */
#define LOAD(library, name)                                  \
  do {                                                       \
    *(void**)(&api.name) = dlsym(library, "fusebox_" #name); \
    expect(api.name != NULL, "dlsym of fusebox_" #name);     \
  } while (0)

static void load_all(void* library) {
  LOAD(library, version);
  LOAD(library, last_error_message);
  LOAD(library, engine_create);
  LOAD(library, engine_destroy);
  LOAD(library, ffn_create);
  LOAD(library, ffn_bind);
  LOAD(library, op_prepare);
  LOAD(library, op_destroy);
}

/* An engine for no GPU plans; what needs a GPU says UNAVAILABLE. */
static void plan_without_gpu(void) {
  const int32_t tokens = 8;
  fusebox_engine* engine = NULL;
  fusebox_op* op = NULL;
  fusebox_binding* binding = NULL;
  fusebox_engine_options options;
  fusebox_ffn_desc desc;
  fusebox_ffn_weights weights;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.device_ordinal = -1;
  options.device_profile = "h200-sxm";
  options.cache_dirs = "/nonexistent/cache";
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  options.log_level = FUSEBOX_LOG_OFF;
  expect(api.engine_create(&options, &engine) == FUSEBOX_OK, "engine_create");
  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  desc.hidden = 2048;
  desc.intermediate = 8192;
  desc.dtype = FUSEBOX_DTYPE_BF16;
  desc.activation = FUSEBOX_ACTIVATION_SILU;
  desc.gated = 1;
  expect(api.ffn_create(engine, &desc, &op) == FUSEBOX_OK, "ffn_create");
  expect(api.op_prepare(op, &tokens, 1, FUSEBOX_PREPARE_BLOCK) == FUSEBOX_NOT_READY, "op_prepare");
  memset(&weights, 0, sizeof weights);
  weights.struct_size = sizeof weights;
  expect(api.ffn_bind(op, &weights, &binding) == FUSEBOX_UNAVAILABLE, "ffn_bind");
  expect(strlen(api.last_error_message()) > 0, "last_error_message");
  expect(api.op_destroy(op) == FUSEBOX_OK, "op_destroy");
  expect(api.engine_destroy(engine) == FUSEBOX_OK, "engine_destroy");
}

/* GPU 0: there, or missing with a sentence. */
static void ask_for_gpu(void) {
  fusebox_engine* engine = NULL;
  fusebox_engine_options options;
  fusebox_status status;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.cache_dirs = "/nonexistent/cache";
  options.log_level = FUSEBOX_LOG_OFF;
  status = api.engine_create(&options, &engine);
  expect(status == FUSEBOX_OK || status == FUSEBOX_UNAVAILABLE, "engine_create for GPU 0");
  expect(status == FUSEBOX_OK || strlen(api.last_error_message()) > 0, "what is missing");
  expect(api.engine_destroy(engine) == FUSEBOX_OK, "engine_destroy for GPU 0");
}

static void open_use_close(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* program = dlopen(NULL, RTLD_NOW);
  if (library == NULL || program == NULL) {
    ++failures;
    printf("failed: %s\n", dlerror());
    return;
  }
  load_all(library);
  if (failures > 0) return;
  expect(dlsym(program, "fusebox_version") == NULL, "symbols of the library alone");
  expect(strcmp(api.version(), FUSEBOX_VERSION_STRING) == 0, "version");
  plan_without_gpu();
  ask_for_gpu();
  expect(dlclose(program) == 0, "dlclose of the program");
  expect(dlclose(library) == 0, "dlclose");
}

int main(int argc, char** argv) {
  int round;
  if (argc != 2) {
    printf("usage: dlopen_consumer LIBRARY\n");
    return 2;
  }
  for (round = 0; round < 3; ++round) open_use_close(argv[1]);
  printf("dlopen consumer: %d passed, %d failed\n", failures == 0, failures != 0);
  return failures != 0;
}
