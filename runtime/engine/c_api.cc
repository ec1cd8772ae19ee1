// The C ABI: every entry is noexcept and one line deep.
#include <new>

#include "fusebox/fusebox.h"
#include "runtime/engine/entry_points.h"
#include "runtime/engine/ffn_launch.h"
#include "runtime/engine/guard.h"
#include "runtime/engine/handles.h"

using fusebox::Guard;  // NOLINT(google-global-names-in-headers): a source file

const char* fusebox_version(void) noexcept { return FUSEBOX_VERSION_STRING; }

const char* fusebox_status_string(fusebox_status status) noexcept {
  static constexpr const char* kNames[] = {
      "OK",          "DECLINED",       "NOT_READY",   "INVALID_ARGUMENT",
      "UNAVAILABLE", "COMPILE_FAILED", "CUDA_FAILED", "OUT_OF_MEMORY",
      "INTERNAL"};
  return status >= FUSEBOX_OK && status <= FUSEBOX_INTERNAL ? kNames[status] : "UNKNOWN";
}

const char* fusebox_last_error_message(void) noexcept { return fusebox::LastErrorMessage(); }

fusebox_status fusebox_engine_create(const fusebox_engine_options* options,
                                     fusebox_engine** out) noexcept {
  return Guard([&] { return fusebox::CreateEngine(options, out); });
}

fusebox_status fusebox_engine_destroy(fusebox_engine* engine) noexcept {
  return Guard([&] { return fusebox::DestroyEngine(engine); });
}

fusebox_status fusebox_engine_freeze(fusebox_engine* engine) noexcept {
  return Guard([&] { return fusebox::FreezeEngine(engine); });
}

fusebox_status fusebox_engine_wait(fusebox_engine* engine, int64_t timeout_ms) noexcept {
  return Guard([&] { return fusebox::WaitEngine(engine, timeout_ms); });
}

fusebox_status fusebox_engine_stats(const fusebox_engine* engine,
                                    fusebox_engine_stats_values* out) noexcept {
  return Guard([&] { return fusebox::ReadStats(engine, out); });
}

fusebox_status fusebox_engine_stats_text(const fusebox_engine* engine, char* buffer,
                                         size_t buffer_bytes, size_t* needed_bytes) noexcept {
  return Guard([&] { return fusebox::ReadStatsText(engine, buffer, buffer_bytes, needed_bytes); });
}

fusebox_status fusebox_op_prepare(fusebox_op* op, const int32_t* tokens, size_t num_tokens,
                                  fusebox_prepare_mode mode) noexcept {
  return Guard([&] { return fusebox::PrepareOp(op, tokens, num_tokens, mode); });
}

fusebox_status fusebox_op_is_ready(const fusebox_op* op, int32_t tokens, int32_t* out) noexcept {
  return Guard([&] { return fusebox::ReadIsReady(op, tokens, out); });
}

fusebox_status fusebox_op_workspace_size(const fusebox_op* op, int32_t max_tokens,
                                         size_t* out_bytes) noexcept {
  return Guard([&] { return fusebox::ReadWorkspaceSize(op, max_tokens, out_bytes); });
}

fusebox_status fusebox_workspace_init(const fusebox_op* op, void* workspace, size_t workspace_bytes,
                                      struct CUstream_st* stream) noexcept {
  return Guard([&] { return fusebox::InitWorkspace(op, workspace, workspace_bytes, stream); });
}

fusebox_status fusebox_op_plan_json(const fusebox_op* op, int32_t tokens, char* buffer,
                                    size_t buffer_bytes, size_t* needed_bytes) noexcept {
  return Guard(
      [&] { return fusebox::ReadPlanJson(op, tokens, buffer, buffer_bytes, needed_bytes); });
}

fusebox_status fusebox_op_destroy(fusebox_op* op) noexcept {
  return Guard([&] { return delete op, absl::OkStatus(); });
}

fusebox_status fusebox_ffn_create(fusebox_engine* engine, const fusebox_ffn_desc* desc,
                                  fusebox_op** out) noexcept {
  return Guard([&] { return fusebox::CreateFfn(engine, desc, out); });
}

fusebox_status fusebox_ffn_bind(fusebox_op* op, const fusebox_ffn_weights* weights,
                                fusebox_binding** out) noexcept {
  return Guard([&] { return fusebox::BindFfn(op, weights, out); });
}

fusebox_status fusebox_binding_destroy(fusebox_binding* binding) noexcept {
  return Guard([&] { return delete binding, absl::OkStatus(); });
}

// Not through Guard: nothing on this path throws, and a code needs no Status.
fusebox_status fusebox_ffn_launch(const fusebox_binding* binding, const fusebox_ffn_args* args,
                                  struct CUstream_st* stream) noexcept {
  if (binding == nullptr) {
    return fusebox::RecordFailure(FUSEBOX_INVALID_ARGUMENT,
                                  "ffn_launch: binding is NULL; make one with fusebox_ffn_bind");
  }
  return fusebox::LaunchFfn(*binding->ffn, args, stream);
}
