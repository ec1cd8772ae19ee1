/* Statuses, handles and enums of the C API. Enums travel as int32_t with fixed values that are
 * never renumbered; an optional choice has the value 0 as its default, a required one begins at 1,
 * so that a forgotten field is refused. C99; no CUDA header. */
#ifndef FUSEBOX_TYPES_H_
#define FUSEBOX_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t fusebox_status;
enum {
  FUSEBOX_OK = 0,
  FUSEBOX_DECLINED = 1,  /* legal, but no plan serves it or it does not pay: run your own path */
  FUSEBOX_NOT_READY = 2, /* the kernel is not there yet, or a wait timed out: run your own path */
  FUSEBOX_INVALID_ARGUMENT = 3, /* the caller's mistake; nothing was done */
  FUSEBOX_UNAVAILABLE = 4,      /* driver, NVRTC or GPU missing or unfit */
  FUSEBOX_COMPILE_FAILED = 5,   /* NVRTC refused a kernel; its log's head is in the message */
  FUSEBOX_CUDA_FAILED = 6,      /* a driver call failed; its name and code are in the message */
  FUSEBOX_OUT_OF_MEMORY = 7,
  FUSEBOX_INTERNAL = 8 /* a mistake of Fusebox: please report */
};

/* Opaque handles; fusebox.h and ffn.h say who owns what and for how long. */
typedef struct fusebox_engine fusebox_engine;
typedef struct fusebox_op fusebox_op;
typedef struct fusebox_binding fusebox_binding;

/* The driver's stream type: cudaStream_t and CUstream are both `struct CUstream_st*`. NULL is the
 * default stream. */
struct CUstream_st;

typedef int32_t fusebox_dtype;
enum { FUSEBOX_DTYPE_BF16 = 1, FUSEBOX_DTYPE_FP16 = 2 };

typedef int32_t fusebox_activation;
enum {
  FUSEBOX_ACTIVATION_SILU = 1,
  FUSEBOX_ACTIVATION_GELU_ERF = 2,
  FUSEBOX_ACTIVATION_RELU = 3,
  FUSEBOX_ACTIVATION_GELU_TANH = 4,
  FUSEBOX_ACTIVATION_RELU_SQUARED = 5,
  /* gelu_tanh in the operations of transformers' NewGELUActivation, each rounded to the dtype:
   * 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * (x * x * x)))) */
  FUSEBOX_ACTIVATION_GELU_NEW = 6
};

typedef int32_t fusebox_gate_up; /* where the gate's and the up projection's rows are; plain ops
                                    have only `up` */
enum {
  FUSEBOX_GATE_UP_FUSED = 0,    /* one matrix [2 * intermediate, hidden]: gate rows, then up rows */
  FUSEBOX_GATE_UP_REVERSED = 1, /* one matrix [2 * intermediate, hidden]: up rows, then gate rows */
  FUSEBOX_GATE_UP_SEPARATE = 2  /* two matrices [intermediate, hidden] */
};

typedef int32_t fusebox_layout; /* of every weight matrix, row-major */
enum { FUSEBOX_LAYOUT_OUT_IN = 0, FUSEBOX_LAYOUT_IN_OUT = 1 };

typedef int32_t fusebox_norm; /* before the block */
enum {
  FUSEBOX_NORM_NONE = 0,
  FUSEBOX_NORM_RMS = 1,
  FUSEBOX_NORM_RMS_PLUS_ONE = 2, /* weight stored as w - 1 (Gemma) */
  FUSEBOX_NORM_LAYER = 3
};

typedef int32_t fusebox_residual_mode; /* r: residual; f: the block with its norm, if any */
enum {
  FUSEBOX_RESIDUAL_NONE = 0,            /* y = f(x) */
  FUSEBOX_RESIDUAL_ADD_BEFORE_NORM = 1, /* residual_out = x + r; y = f(residual_out) */
  FUSEBOX_RESIDUAL_ADD_AFTER = 2,       /* y = r + f(x); r is x where no pointer is given */
  FUSEBOX_RESIDUAL_SANDWICH = 3         /* y = x + norm2(f(x)), norm2 of the same kind */
};

/* Whose rounding points are matched. Both engines round each projection's output, the activation's
 * and the product to the dtype, so that both values are served by the same kernels. */
typedef int32_t fusebox_rounding;
enum { FUSEBOX_ROUNDING_VLLM = 0, FUSEBOX_ROUNDING_HF = 1 };

typedef int32_t fusebox_compile_mode;
enum {
  FUSEBOX_COMPILE_DEFAULT = 0,    /* FUSEBOX_COMPILE, else background */
  FUSEBOX_COMPILE_BACKGROUND = 1, /* prepare returns at once; a small thread pool compiles */
  FUSEBOX_COMPILE_BLOCK = 2,      /* prepare returns when the kernels are there */
  FUSEBOX_COMPILE_NEVER = 3       /* caches only */
};

typedef int32_t fusebox_prepare_mode;
enum {
  FUSEBOX_PREPARE_DEFAULT = 0, /* as the engine's compile mode says */
  FUSEBOX_PREPARE_BLOCK = 1,
  FUSEBOX_PREPARE_BACKGROUND = 2
};

typedef int32_t fusebox_log_level;
enum {
  FUSEBOX_LOG_DEFAULT = 0, /* FUSEBOX_LOG_LEVEL, else warn */
  FUSEBOX_LOG_TRACE = 1,
  FUSEBOX_LOG_DEBUG = 2,
  FUSEBOX_LOG_INFO = 3,
  FUSEBOX_LOG_WARN = 4,
  FUSEBOX_LOG_ERROR = 5,
  FUSEBOX_LOG_OFF = 6
};

typedef int32_t fusebox_switch;
enum { FUSEBOX_SWITCH_DEFAULT = 0, FUSEBOX_SWITCH_ON = 1, FUSEBOX_SWITCH_OFF = 2 };

/* One event, "key=value key=value", without a newline. Called from any thread, one call at a time
 * for an engine; must not call Fusebox. `line` is borrowed until the callback returns. */
typedef void (*fusebox_log_callback)(void* user, fusebox_log_level level, const char* line);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FUSEBOX_TYPES_H_ */
