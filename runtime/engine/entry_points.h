// The bodies of the C API's entries that are more than a call: arguments in, handles and texts out.
// Thread-safe as the entries are. Outputs are written on success only, unless fusebox.h says
// otherwise.
#ifndef FUSEBOX_RUNTIME_ENGINE_ENTRY_POINTS_H_
#define FUSEBOX_RUNTIME_ENGINE_ENTRY_POINTS_H_

#include "absl/status/status.h"
#include "fusebox/fusebox.h"

namespace fusebox {

absl::Status CreateEngine(const fusebox_engine_options* options, fusebox_engine** out);
absl::Status DestroyEngine(fusebox_engine* engine);
absl::Status FreezeEngine(fusebox_engine* engine);
absl::Status WaitEngine(fusebox_engine* engine, int64_t timeout_ms);
absl::Status ReadStats(const fusebox_engine* engine, fusebox_engine_stats_values* out);
absl::Status ReadStatsText(const fusebox_engine* engine, char* buffer, size_t buffer_bytes,
                           size_t* needed_bytes);

absl::Status CreateFfn(fusebox_engine* engine, const fusebox_ffn_desc* desc, fusebox_op** out);
absl::Status PrepareOp(fusebox_op* op, const int32_t* tokens, size_t num_tokens,
                       fusebox_prepare_mode mode);
absl::Status ReadIsReady(const fusebox_op* op, int32_t tokens, int32_t* out);
absl::Status ReadWorkspaceSize(const fusebox_op* op, int32_t max_tokens, size_t* out_bytes);
absl::Status InitWorkspace(const fusebox_op* op, void* workspace, size_t workspace_bytes,
                           struct CUstream_st* stream);
absl::Status ReadPlanJson(const fusebox_op* op, int32_t tokens, char* buffer, size_t buffer_bytes,
                          size_t* needed_bytes);

absl::Status BindFfn(fusebox_op* op, const fusebox_ffn_weights* weights, fusebox_binding** out);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_ENTRY_POINTS_H_
