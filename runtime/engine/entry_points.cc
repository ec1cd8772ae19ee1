#include "runtime/engine/entry_points.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/engine/guard.h"
#include "runtime/engine/handles.h"
#include "runtime/engine/settings.h"
#include "runtime/engine/struct_size.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

absl::Status CopyText(const std::string& text, char* buffer, size_t buffer_bytes,
                      size_t* needed_bytes) {
  const size_t needed = text.size() + 1;
  if (needed_bytes != nullptr) *needed_bytes = needed;
  if (buffer == nullptr && buffer_bytes == 0) return absl::OkStatus();
  FUSEBOX_RETURN_IF_ERROR(RequireSet(buffer, "buffer"));
  if (buffer_bytes < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("buffer has ", buffer_bytes, " bytes, but ", needed, " are needed"));
  }
  std::memcpy(buffer, text.c_str(), needed);
  return absl::OkStatus();
}

absl::StatusOr<PrepareMode> ReadPrepareMode(const Engine& engine, fusebox_prepare_mode mode) {
  switch (mode) {
    case FUSEBOX_PREPARE_DEFAULT:
      return engine.config().compile_mode == CompileMode::kBackground ? PrepareMode::kBackground
                                                                      : PrepareMode::kBlock;
    case FUSEBOX_PREPARE_BLOCK:
      return PrepareMode::kBlock;
    case FUSEBOX_PREPARE_BACKGROUND:
      return PrepareMode::kBackground;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "op_prepare: mode ", mode, " names nothing; accepted: FUSEBOX_PREPARE_* (0 to 2)"));
  }
}

}  // namespace

absl::Status RequireSet(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL; pass a valid pointer"));
}

absl::Status CreateEngine(const fusebox_engine_options* options, fusebox_engine** out) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(out, "engine_create: out"));
  FUSEBOX_ASSIGN_OR_RETURN(const EngineSettings settings,
                           MakeSettings(options, Environment::OfProcess()));
  FUSEBOX_ASSIGN_OR_RETURN(std::shared_ptr<Engine> engine, Engine::Create(settings));
  *out = new fusebox_engine{std::move(engine)};
  return absl::OkStatus();
}

absl::Status DestroyEngine(fusebox_engine* engine) {
  if (engine == nullptr) return absl::OkStatus();
  engine->engine->Shutdown();
  delete engine;
  return absl::OkStatus();
}

absl::Status FreezeEngine(fusebox_engine* engine) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(engine, "engine_freeze: engine"));
  engine->engine->Freeze();
  return absl::OkStatus();
}

absl::Status WaitEngine(fusebox_engine* engine, int64_t timeout_ms) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(engine, "engine_wait: engine"));
  return engine->engine->WaitForBackground(timeout_ms < 0 ? absl::InfiniteDuration()
                                                          : absl::Milliseconds(timeout_ms));
}

absl::Status ReadStats(const fusebox_engine* engine, fusebox_engine_stats_values* out) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(engine, "engine_stats: engine"));
  engine->engine->CollectShadows();
  fusebox_engine_stats_values values;
  FUSEBOX_RETURN_IF_ERROR(ReadStruct(out, "fusebox_engine_stats_values", &values));
  ReadCounters(engine->engine->counters(), &values);
  std::memcpy(static_cast<void*>(out), &values, values.struct_size);
  return absl::OkStatus();
}

absl::Status ReadStatsText(const fusebox_engine* engine, char* buffer, size_t buffer_bytes,
                           size_t* needed_bytes) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(engine, "engine_stats_text: engine"));
  engine->engine->CollectShadows();
  return CopyText(CountersText(engine->engine->counters(), engine->engine->gpu_name()), buffer,
                  buffer_bytes, needed_bytes);
}

absl::Status CreateFfn(fusebox_engine* engine, const fusebox_ffn_desc* desc, fusebox_op** out) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(engine, "ffn_create: engine"));
  FUSEBOX_RETURN_IF_ERROR(RequireSet(out, "ffn_create: out"));
  EngineCounters& counters = engine->engine->counters();
  const absl::StatusOr<FfnSpec> spec = ReadFfnDesc(desc);
  if (IsDeclined(spec.status())) counters.ops_declined.Add();
  FUSEBOX_RETURN_IF_ERROR(spec.status());
  absl::StatusOr<std::shared_ptr<FfnOp>> op = FfnOp::Create(engine->engine, *spec);
  if (IsDeclined(op.status())) counters.ops_declined.Add();
  FUSEBOX_RETURN_IF_ERROR(op.status());
  *out = new fusebox_op{*std::move(op)};
  counters.ops_created.Add();
  return absl::OkStatus();
}

absl::Status PrepareOp(fusebox_op* op, const int32_t* tokens, size_t num_tokens,
                       fusebox_prepare_mode mode) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "op_prepare: op"));
  if (num_tokens > 0) FUSEBOX_RETURN_IF_ERROR(RequireSet(tokens, "op_prepare: tokens"));
  FUSEBOX_ASSIGN_OR_RETURN(const PrepareMode prepare_mode,
                           ReadPrepareMode(op->ffn->engine(), mode));
  absl::Status status = op->ffn->Prepare(absl::MakeConstSpan(tokens, num_tokens), prepare_mode);
  if (prepare_mode == PrepareMode::kBackground) {
    status.Update(op->ffn->engine().pool().CheckServed());
  }
  return status;
}

absl::Status ReadIsReady(const fusebox_op* op, int32_t tokens, int32_t* out) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "op_is_ready: op"));
  FUSEBOX_RETURN_IF_ERROR(RequireSet(out, "op_is_ready: out"));
  FUSEBOX_ASSIGN_OR_RETURN(const bool ready, op->ffn->IsReady(tokens));
  *out = ready ? 1 : 0;
  return absl::OkStatus();
}

absl::Status ReadWorkspaceSize(const fusebox_op* op, int32_t max_tokens, size_t* out_bytes) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "op_workspace_size: op"));
  FUSEBOX_RETURN_IF_ERROR(RequireSet(out_bytes, "op_workspace_size: out_bytes"));
  FUSEBOX_ASSIGN_OR_RETURN(const int64_t bytes, op->ffn->WorkspaceBytes(max_tokens));
  *out_bytes = static_cast<size_t>(bytes);
  return absl::OkStatus();
}

absl::Status InitWorkspace(const fusebox_op* op, void* workspace, size_t workspace_bytes,
                           struct CUstream_st* stream) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "workspace_init: op"));
  return op->ffn->InitWorkspace(workspace, workspace_bytes, stream);
}

absl::Status ReadPlanJson(const fusebox_op* op, int32_t tokens, char* buffer, size_t buffer_bytes,
                          size_t* needed_bytes) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "op_plan_json: op"));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string json, op->ffn->PlanJson(tokens));
  return CopyText(json, buffer, buffer_bytes, needed_bytes);
}

absl::Status BindFfn(fusebox_op* op, const fusebox_ffn_weights* weights, fusebox_binding** out) {
  FUSEBOX_RETURN_IF_ERROR(RequireSet(op, "ffn_bind: op"));
  FUSEBOX_RETURN_IF_ERROR(RequireSet(out, "ffn_bind: out"));
  FUSEBOX_ASSIGN_OR_RETURN(std::unique_ptr<FfnBinding> binding, FfnBinding::Bind(op->ffn, weights));
  *out = new fusebox_binding{std::move(binding)};
  return absl::OkStatus();
}

}  // namespace fusebox
