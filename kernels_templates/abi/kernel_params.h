// What the host passes to a kernel: the only file that host and device code both include.
// No include, no toolkit type: NVRTC sees this text alone. Layout is part of the cache schema
// (src/source/kernel_source.h).
#ifndef FUSEBOX_KERNELS_TEMPLATES_ABI_KERNEL_PARAMS_H_
#define FUSEBOX_KERNELS_TEMPLATES_ABI_KERNEL_PARAMS_H_

namespace fusebox {

// A CUtensorMap, opaque: 128 bytes, 64-byte aligned (CUDA driver API). Kept in kernel parameters,
// never copied on device.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

// Parameters of the ffn kernel, by value as one __grid_constant__. The tensor maps are row-major
// elements of the op's dtype with 128-byte swizzle, L2 promotion 128 B and zero fill out of bounds:
// - gate, up: [intermediate, hidden], boxes of [up.rows_per_pass, 64]; layout in_out: [hidden,
//   intermediate], boxes of [64, 64]. A plain op reads `up` alone.
// - down: [hidden, intermediate], boxes of [down.rows_per_pass, 64]; layout in_out: [intermediate,
//   hidden], boxes of [64, 64].
// - x: [tokens, hidden], boxes of [token_tile, 64]; rows at and beyond `tokens` read as zero.
// - h: [tokens, intermediate] of the workspace, boxes of [token_tile, 64]; grid gather alone.
//   Where activations are multicast, boxes have a sharer's part of token_tile.
struct FfnParams {
  TensorMap gate;
  TensorMap up;
  TensorMap down;
  TensorMap x;
  TensorMap h;
  unsigned short* y;  // [tokens, hidden], row stride y_stride elements
  // [tokens, hidden]; modes add_before_norm and add_after, where it may alias y; sandwich: x.
  const unsigned short* residual;
  // Modes add_before_norm: x + residual, [tokens, hidden]; may alias residual.
  unsigned short* residual_out;
  // Ops with a norm: x for generic loads (its tensor map is then of the workspace's rows), and the
  // norms' weights [hidden]; norm_bias may be null.
  const unsigned short* x_rows;
  const unsigned short* norm_weight;
  const unsigned short* norm_bias;
  const unsigned short* second_norm_weight;
  // [intermediate], [intermediate] and [hidden]; read only where the op has the bias.
  const unsigned short* gate_bias;
  const unsigned short* up_bias;
  const unsigned short* down_bias;
  // Report, counters, partial sums or h, rows; report and counters are zero between launches.
  unsigned int* workspace;
  long long y_stride;         // elements
  long long residual_stride;  // elements
  long long residual_out_stride;
  long long x_stride;
  unsigned int tokens;  // 0 <= tokens <= token_tile
  float eps;
};

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_ABI_KERNEL_PARAMS_H_
