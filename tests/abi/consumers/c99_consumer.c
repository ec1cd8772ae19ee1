/* A C99 program that links libfusebox.so: plans one op for a GPU that is not there. Exits 0 when
 * all went as documented. */
#include <stdio.h>
#include <string.h>

#include "fusebox/fusebox.h"

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  printf("failed: %s (%s)\n", what, fusebox_last_error_message());
}

static void on_log(void* user, fusebox_log_level level, const char* line) {
  (void)level;
  *(size_t*)user += strlen(line);
}

int main(void) {
  size_t logged = 0;
  size_t needed = 0;
  size_t workspace_bytes = 0;
  int32_t ready = -1;
  const int32_t tokens[] = {1, 8, 16};
  fusebox_engine* engine = NULL;
  fusebox_op* op = NULL;
  fusebox_engine_options options;
  fusebox_ffn_desc desc;
  fusebox_engine_stats_values stats;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.device_ordinal = -1;
  options.device_profile = "h200-sxm";
  options.cache_dirs = "/nonexistent/cache";
  options.compile_mode = FUSEBOX_COMPILE_NEVER;
  options.log_level = FUSEBOX_LOG_INFO;
  options.log_callback = on_log;
  options.log_user = &logged;
  expect(strcmp(fusebox_version(), FUSEBOX_VERSION_STRING) == 0, "version");
  expect(fusebox_engine_create(&options, &engine) == FUSEBOX_OK, "engine_create");
  expect(logged > 0, "log callback");

  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  desc.hidden = 4096;
  desc.intermediate = 14336;
  desc.dtype = FUSEBOX_DTYPE_BF16;
  desc.activation = FUSEBOX_ACTIVATION_SILU;
  desc.gated = 1;
  expect(fusebox_ffn_create(engine, &desc, &op) == FUSEBOX_OK, "ffn_create");
  expect(fusebox_op_prepare(op, tokens, 3, FUSEBOX_PREPARE_BLOCK) == FUSEBOX_NOT_READY, "prepare");
  expect(fusebox_op_is_ready(op, 8, &ready) == FUSEBOX_OK && ready == 0, "is_ready");
  expect(fusebox_op_workspace_size(op, 0, &workspace_bytes) == FUSEBOX_OK && workspace_bytes > 0,
         "workspace_size");
  expect(fusebox_op_plan_json(op, 8, NULL, 0, &needed) == FUSEBOX_OK && needed > 100, "plan_json");
  expect(fusebox_engine_freeze(engine) == FUSEBOX_OK, "freeze");
  expect(fusebox_engine_wait(engine, 1000) == FUSEBOX_OK, "wait");
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  expect(fusebox_engine_stats(engine, &stats) == FUSEBOX_OK && stats.ops_created == 1, "stats");
  expect(fusebox_op_destroy(op) == FUSEBOX_OK, "op_destroy");
  expect(fusebox_engine_destroy(engine) == FUSEBOX_OK, "engine_destroy");
  printf("c99 consumer: %d passed, %d failed\n", failures == 0, failures != 0);
  return failures;
}
