/* Fusebox: fused decode kernels, planned, compiled and cached at run time, launched on your stream.
 *
 *   engine (one GPU)  ->  op (dimensions)  ->  binding (one layer's weights)  ->  launch
 *
 * Every function returns a fusebox_status (0 is OK) and throws nothing; outputs come last and are
 * written only on OK unless said otherwise; a message for the thread's last failure is in
 * fusebox_last_error_message(). Every struct begins with struct_size = sizeof(the struct): a
 * smaller, known size is an older caller and works; 0 or a larger one is INVALID_ARGUMENT. Zero
 * every other field you do not set. NULL options mean defaults. Dimensions and strides are in
 * elements; what counts bytes says so in its name. All functions are thread-safe, except that a
 * handle must not be destroyed while another call uses it. Nothing happens before the first call;
 * fork only before it. dlclose is safe after the last handle is gone, and leaves the library in
 * memory. C99; no CUDA header. fusebox.hpp wraps this one to one. */
#ifndef FUSEBOX_FUSEBOX_H_
#define FUSEBOX_FUSEBOX_H_

#include "fusebox/export.h"
#include "fusebox/ffn.h"
#include "fusebox/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strings are borrowed during the call. A field that is not 0 or NULL beats its environment
 * variable. */
typedef struct fusebox_engine_options {
  size_t struct_size;
  int32_t device_ordinal; /* CUDA ordinal; -1: no GPU, plan and compile for device_profile only */
  const char*
      device_profile; /* "h200-sxm", ...; NULL: FUSEBOX_DEVICE_PROFILE, else by the GPU's name */
  const char* cache_dirs; /* colon list, all searched, the first written; NULL: FUSEBOX_CACHE_DIR,
                             else the user's */
  fusebox_compile_mode compile_mode;
  int32_t compile_threads; /* of background compilation; 0: FUSEBOX_COMPILE_THREADS */
  fusebox_switch pdl;      /* programmatic dependent launch */
  fusebox_log_level log_level;
  fusebox_log_callback log_callback; /* NULL: FUSEBOX_LOG_FILE, else stderr */
  void* log_user;                    /* handed to log_callback */
  /* Since 0.4. Token tiles that are predicted to be slower fused are DECLINED (fusion_pays); off
   * serves them. */
  fusebox_switch decline_slower;
} fusebox_engine_options;

/* Counters since the engine was made. Appended to, never reordered. */
typedef struct fusebox_engine_stats_values {
  size_t struct_size;
  uint64_t launches;           /* kernels enqueued */
  uint64_t launches_not_ready; /* launches answered NOT_READY */
  uint64_t launches_declined;  /* launches answered DECLINED */
  uint64_t launches_failed;    /* launches answered otherwise */
  uint64_t ops_created;
  uint64_t ops_declined;
  uint64_t kernels_ready; /* loaded on the GPU; of an engine without GPU: compiled or found */
  uint64_t kernels_failed;
  uint64_t cache_memory_hits;
  uint64_t cache_disk_hits;
  uint64_t cache_misses;
  uint64_t cache_bad_entries; /* found bad: checksum, truncation, unreadable metadata */
  uint64_t cache_write_failures;
  uint64_t compiles;
  uint64_t compile_microseconds; /* in NVRTC, summed over compiles */
  /* Since 0.3. FUSEBOX_SHADOW; a comparison counts once its launch has run. */
  uint64_t shadow_launches; /* launches compared with the reference */
  uint64_t shadow_wrong;    /* of these, launches with an output outside its bound; see the log */
} fusebox_engine_stats_values;

FUSEBOX_API const char* fusebox_version(void) FUSEBOX_NOEXCEPT; /* "0.4.0"; static */
/* Name of a status, "DECLINED"; "UNKNOWN" for other numbers; static. */
FUSEBOX_API const char* fusebox_status_string(fusebox_status status) FUSEBOX_NOEXCEPT;
/* One sentence about the last call on this thread that did not return OK: what was asked, which
 * limit it met, what to do. Empty before the first. Valid until the thread's next such call. */
FUSEBOX_API const char* fusebox_last_error_message(void) FUSEBOX_NOEXCEPT;

/* UNAVAILABLE: no driver, no such GPU, or not a Hopper; to plan and compile all the same, use
 * device ordinal -1 with a device profile. INVALID_ARGUMENT: an option or a FUSEBOX_ variable is
 * wrong. The device's primary context is retained until the engine and its ops are
 * gone; the current context stays. */
FUSEBOX_API fusebox_status fusebox_engine_create(const fusebox_engine_options* options,
                                                 fusebox_engine** out) FUSEBOX_NOEXCEPT;
/* Waits for background work under way and drops what is queued. Ops and bindings not yet destroyed
 * stay usable for launches; log_callback is not called any more. NULL is fine. */
FUSEBOX_API fusebox_status fusebox_engine_destroy(fusebox_engine* engine) FUSEBOX_NOEXCEPT;

/* Fixes the set of ready kernels: fusebox_op_is_ready does not change after it. Later prepares of
 * what is not ready answer NOT_READY. Call fusebox_engine_wait first where ranks must agree. */
FUSEBOX_API fusebox_status fusebox_engine_freeze(fusebox_engine* engine) FUSEBOX_NOEXCEPT;
/* Waits for queued background work; negative: without limit. NOT_READY when the time is up;
 * OUT_OF_MEMORY, like op_prepare in the background, where the system starts no thread for it. */
FUSEBOX_API fusebox_status fusebox_engine_wait(fusebox_engine* engine,
                                               int64_t timeout_ms) FUSEBOX_NOEXCEPT;
FUSEBOX_API fusebox_status fusebox_engine_stats(const fusebox_engine* engine,
                                                fusebox_engine_stats_values* out) FUSEBOX_NOEXCEPT;
/* Prometheus text. `*needed_bytes` (may be NULL) always gets the size with the final 0; buffer NULL
 * with 0 bytes only asks for it, a buffer that is too small is INVALID_ARGUMENT. */
FUSEBOX_API fusebox_status fusebox_engine_stats_text(const fusebox_engine* engine, char* buffer,
                                                     size_t buffer_bytes,
                                                     size_t* needed_bytes) FUSEBOX_NOEXCEPT;

/* Loads or compiles the kernels for these token counts, each rounded up to its tile (8, 16, 32).
 * Every count is tried; the status is the first one that is not OK. Background: OK means queued;
 * see fusebox_op_is_ready. Another thread may capture a stream meanwhile; this one may too, but
 * then prepare in the background. NOT_READY (in no cache, and the compile mode is never; or the
 * engine is frozen), COMPILE_FAILED, UNAVAILABLE (no NVRTC), DECLINED (also by fusion_pays: the
 * tile is predicted to be slower fused; and by co_resident: this very GPU holds less than the
 * profile says, and none of the op's few smaller plans fits it). */
FUSEBOX_API fusebox_status fusebox_op_prepare(fusebox_op* op, const int32_t* tokens,
                                              size_t num_tokens,
                                              fusebox_prepare_mode mode) FUSEBOX_NOEXCEPT;
/* `*out`: 1 when a launch with this many tokens would find its kernel, else 0. */
FUSEBOX_API fusebox_status fusebox_op_is_ready(const fusebox_op* op, int32_t tokens,
                                               int32_t* out) FUSEBOX_NOEXCEPT;
/* Bytes of workspace for launches of up to max_tokens tokens (0: the op's maximum), as far as they
 * are served. DECLINED where none of them is. */
FUSEBOX_API fusebox_status fusebox_op_workspace_size(const fusebox_op* op, int32_t max_tokens,
                                                     size_t* out_bytes) FUSEBOX_NOEXCEPT;
/* Fills the caller's device memory (256-byte aligned) on the caller's stream, once, before its
 * first launch; launches leave it as they found it. Again after other work wrote to it. One
 * workspace serves all ops of an engine on a stream, if it has the largest one's size. An engine
 * remembers thousands of them (16384 slots), then forgets the one initialised longest ago. */
FUSEBOX_API fusebox_status fusebox_workspace_init(const fusebox_op* op, void* workspace,
                                                  size_t workspace_bytes,
                                                  struct CUstream_st* stream) FUSEBOX_NOEXCEPT;
/* The plan for this token count with its cost terms, as JSON, and the ladder of plans for a GPU
 * that holds less, with the one in force once its kernel is ready; sizes as in
 * fusebox_engine_stats_text. */
FUSEBOX_API fusebox_status fusebox_op_plan_json(const fusebox_op* op, int32_t tokens, char* buffer,
                                                size_t buffer_bytes,
                                                size_t* needed_bytes) FUSEBOX_NOEXCEPT;
FUSEBOX_API fusebox_status fusebox_op_destroy(fusebox_op* op)
    FUSEBOX_NOEXCEPT; /* bindings may outlive it; NULL is fine */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FUSEBOX_FUSEBOX_H_ */
