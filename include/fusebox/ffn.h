/* The ffn op: f(x) = down( act(gate(x)) * up(x) ) when gated, f(x) = down( act(up(x)) ) when plain,
 * with a norm before it and a residual (fusebox_residual_mode) where asked for. Included by
 * fusebox.h.
 *
 * All matrices are row-major in device memory, 16-byte aligned, with a leading dimension (elements
 * from one row to the next) that is a multiple of 8: x [tokens, hidden], y [tokens, hidden]; in
 * layout out_in gate and up [intermediate, hidden], down [hidden, intermediate]; in layout in_out
 * gate and up [hidden, intermediate], down [intermediate, hidden]; vectors are packed and 16-byte
 * aligned. Accumulation is fp32. Results are rounded to the dtype where the engine's separate
 * operations round: the norm's output, each projection's with its bias, the activation's, its
 * product with up, each sum of a residual; inside an activation only where it is defined so
 * (FUSEBOX_ACTIVATION_GELU_NEW, for transformers' own GPT-2, GPT-J and Phi; engines that compute
 * gelu_new in fp32, as vLLM does, want GELU_TANH). Both values of fusebox_rounding are that one.
 * Results are bitwise repeatable. With tensor parallelism `intermediate` is the rank's share, y a
 * partial sum, the all-reduce yours.
 *
 * Served in this version: all values but batch_invariant, and sandwich with norm layer; tokens up
 * to 128. Other named values are DECLINED with their rule; unknown values are INVALID_ARGUMENT. */
#ifndef FUSEBOX_FFN_H_
#define FUSEBOX_FFN_H_

#include "fusebox/export.h"
#include "fusebox/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FUSEBOX_FFN_MAX_TOKENS = 128 };

/* Bits of fusebox_ffn_desc::biases; UP is of gate and up together. */
enum { FUSEBOX_BIAS_UP = 1, FUSEBOX_BIAS_DOWN = 2 };

/* Bits of fusebox_ffn_desc::flags. */
enum {
  FUSEBOX_FLAG_ALLOW_ATOMICS =
      1, /* permits plans whose results are not bitwise repeatable; none exists yet */
  FUSEBOX_FLAG_BATCH_INVARIANT = 2 /* a row's result does not depend on the number of tokens */
};

/* Bits of fusebox_ffn_args::flags. */
enum {
  /* The work just before this launch on the stream writes weights (a LoRA merge, an offload copy):
   * the launch then starts no weight read before that work is complete. */
  FUSEBOX_LAUNCH_WEIGHTS_JUST_WRITTEN = 1
};

typedef struct fusebox_ffn_desc {
  size_t struct_size;   /* sizeof(fusebox_ffn_desc) */
  int64_t hidden;       /* multiple of 8 */
  int64_t intermediate; /* multiple of 8; rows of up (and of gate) */
  fusebox_dtype dtype;  /* of weights, biases, norm weights, x, residuals and y */
  fusebox_activation activation;
  int32_t gated;           /* 1: gate and up; 0: plain, up only */
  fusebox_gate_up gate_up; /* ignored when plain */
  fusebox_layout layout;
  uint32_t biases;
  fusebox_norm norm;
  fusebox_residual_mode residual_mode; /* add_before_norm and sandwich need a norm */
  fusebox_rounding rounding;
  /* Largest token count to be launched; 0: FUSEBOX_FFN_MAX_TOKENS. Beyond 32 kernels are right, but
   * on most dims slower than two GEMMs of cuBLAS (README). */
  int32_t max_tokens;
  uint32_t flags;
} fusebox_ffn_desc;

/* Borrowed device pointers: they must stay valid and their contents unchanged until the binding is
 * destroyed. Leading dimensions in elements; 0 means packed (the width). Pointers that the desc
 * does not ask for must be NULL. */
typedef struct fusebox_ffn_weights {
  size_t struct_size;
  /* Shapes of layout out_in; in_out has the transposes, e.g. gate_up [hidden, 2 * intermediate]. */
  const void* gate_up; /* FUSED and REVERSED: [2 * intermediate, hidden] */
  int64_t gate_up_ld;
  const void* gate; /* SEPARATE: [intermediate, hidden] */
  int64_t gate_ld;
  const void* up; /* SEPARATE and plain: [intermediate, hidden] */
  int64_t up_ld;
  const void* down; /* [hidden, intermediate] */
  int64_t down_ld;
  /* Since 0.2. Vectors; NULL where the desc has no such bias or norm. */
  const void* gate_up_bias; /* FUSED and REVERSED: [2 * intermediate], in the order of gate_up */
  const void* gate_bias;    /* SEPARATE: [intermediate] */
  const void* up_bias;      /* SEPARATE and plain: [intermediate] */
  const void* down_bias;    /* [hidden] */
  const void* norm_weight;  /* [hidden] */
  const void* norm_bias;    /* layer only, [hidden]; NULL: a LayerNorm without bias */
  const void* second_norm_weight; /* sandwich only, [hidden] */
  double eps; /* of the norms, above 0 and finite as fp32; not read without a norm */
} fusebox_ffn_weights;

/* Strides in elements from one token's row to the next, multiples of 8; 0 means packed (hidden). */
typedef struct fusebox_ffn_args {
  size_t struct_size;
  int32_t tokens; /* 0..max_tokens. 0 touches no buffer, and still launches, so that the stream's
                     order holds */
  uint32_t flags;
  const void* x; /* rows at and beyond `tokens` are not read */
  int64_t x_stride;
  const void* residual; /* add_after: NULL means x, may be y, row for row. add_before_norm: needed,
                           not y. Others: NULL (sandwich adds x) */
  int64_t residual_stride;
  void* y; /* must not overlap x; rows at and beyond `tokens` are not written */
  int64_t y_stride;
  void* workspace; /* from workspace_init of any op of this engine; no two launches that may overlap
                      share one */
  size_t workspace_bytes;
  /* Since 0.2. */
  void* residual_out; /* add_before_norm: gets x + residual; may be residual, row for row; must
                         overlap neither x nor y. Others: NULL */
  int64_t residual_out_stride;
} fusebox_ffn_args;

/* Plans the op for every token tile up to max_tokens; no driver call, no compilation. `*out` is
 * yours until fusebox_op_destroy. Thread-safe. DECLINED when no tile is served. INVALID_ARGUMENT
 * for dims that are no dims and for unknown values. */
FUSEBOX_API fusebox_status fusebox_ffn_create(fusebox_engine* engine, const fusebox_ffn_desc* desc,
                                              fusebox_op** out) FUSEBOX_NOEXCEPT;

/* Ties the op to one layer's weights. Needs a GPU but no prepared kernel; the calling thread needs
 * no context.
 * `*out` is yours until fusebox_binding_destroy, which must not overlap a launch of it; kernels
 * already on a stream need only the weights. Thread-safe. INVALID_ARGUMENT names the weight, what
 * it has and what it should have. */
FUSEBOX_API fusebox_status fusebox_ffn_bind(fusebox_op* op, const fusebox_ffn_weights* weights,
                                            fusebox_binding** out) FUSEBOX_NOEXCEPT;
FUSEBOX_API fusebox_status fusebox_binding_destroy(fusebox_binding* binding)
    FUSEBOX_NOEXCEPT; /* NULL is fine */

/* Enqueues the op on the caller's stream; asynchronous, capturable, and free of allocation,
 * lock, environment read and synchronisation. The device's primary context must be current on the
 * calling thread. Thread-safe; one binding may be launched from many threads at once with
 * workspaces of their own. NOT_READY: prepare this token count. DECLINED: more tokens than the op
 * serves, or no plan that fits this GPU. In both nothing was enqueued. FUSEBOX_SHADOW adds kernels
 * of its own around some launches that are not captured, and may then write to the log. */
FUSEBOX_API fusebox_status fusebox_ffn_launch(const fusebox_binding* binding,
                                              const fusebox_ffn_args* args,
                                              struct CUstream_st* stream) FUSEBOX_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FUSEBOX_FFN_H_ */
