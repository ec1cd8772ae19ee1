// The slow oracle of the ffn on the device, for dims that the fp64 oracle of tests/reference is too
// slow for: fp64 loops, rounded to the dtype where the op rounds. Beside each value it keeps the
// bound on a kernel's distance from it that tests/reference/error_bound.h derives; a test on the
// GPU holds both against that oracle. Shares nothing with the ffn kernel. Kernels in turn: rows
// (what the block reads), intermediate (h), output (y), and for the residual mode "sandwich"
// second_norm. A row of tokens does not depend on the others, so the first rows of many serve
// fewer.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_

#include "kernels_templates/kernels/reference_value.cuh"

namespace fusebox {

enum class ReferenceActivation { kSilu, kGeluErf, kGeluTanh, kRelu, kReluSquared, kGeluNew };
enum class ReferenceNorm { kNone, kRms, kRmsPlusOne, kLayer };
enum class ReferenceResidual { kNone, kAddBeforeNorm, kAddAfter, kSandwich };

// Rows of tokens, 16-bit; stride in elements.
struct ReferenceMatrix {
  const u16* values;
  i64 row_stride;

  __device__ const u16* Row(i64 row) const { return values + row * row_stride; }
};

// A matrix of weights, 16-bit, in either layout: element (output, input); strides in elements.
struct ReferenceWeights {
  const u16* values;
  i64 output_stride;
  i64 input_stride;
};

struct ReferenceDims {
  i64 hidden;
  i64 intermediate;
  i64 tokens;
};

// Null where the op has none.
struct ReferenceVectors {
  const u16* gate_bias;  // [intermediate]
  const u16* up_bias;    // [intermediate]
  const u16* down_bias;  // [hidden]
  const u16* norm_weight;
  const u16* norm_bias;
  const u16* second_norm_weight;
  double eps;
};

// Values and bounds of a matrix, dense.
struct ReferenceRows {
  double* values;
  double* errors;

  __device__ void Store(i64 index, const Estimate& estimate) const {
    values[index] = estimate.value;
    errors[index] = estimate.error;
  }
  __device__ Estimate Load(i64 index) const { return {values[index], errors[index]}; }
};

__device__ inline i64 ReferenceLane() { return threadIdx.x % kWarpThreads; }
// Of a grid of warps.
__device__ inline i64 ReferenceRow() {
  return blockIdx.x * i64{blockDim.x / kWarpThreads} + threadIdx.x / kWarpThreads;
}

template <typename Op>
__device__ Estimate RoundAsEngine(const Estimate& estimate) {
  return Op::kEngineRounding ? RoundedTo<Op::kFp16>(estimate) : estimate;
}

// What the norm, or without one phase 1, reads of x.
template <typename Op>
__device__ double ReferenceInput(const u16* x, const u16* residual, i64 column) {
  if constexpr (Op::kResidual == ReferenceResidual::kAddBeforeNorm) {
    // One rounding: what fp32 cannot hold of a sum of two 16-bit values is far below a tie.
    return RoundDouble<Op::kFp16>(ToDouble<Op::kFp16>(x[column]) +
                                  ToDouble<Op::kFp16>(residual[column]));
  }
  return ToDouble<Op::kFp16>(x[column]);
}

// A row's mean and 1 / sqrt(variance + eps); for the RMS norms the mean is 0.
struct RowMoments {
  Estimate mean;
  Estimate scale;
};

// `input(k)` is an Estimate. All lanes of the warp.
template <typename Op, typename Input>
__device__ RowMoments ReferenceMoments(i64 count, double eps, Input input) {
  const double n = static_cast<double>(count);
  RowMoments moments = {};
  if constexpr (Op::kNorm == ReferenceNorm::kLayer) {
    ReferenceSum sum;
    for (i64 k = ReferenceLane(); k < count; k += kWarpThreads) sum.Add(input(k));
    sum.Finish();
    const double error = sum.error + RowSumError(count) * sum.magnitude;
    moments.mean = {sum.value / n, MeanError(sum.value / n, error / n)};
  }
  ReferenceSum squares;
  for (i64 k = ReferenceLane(); k < count; k += kWarpThreads) {
    const Estimate value = input(k);
    const double centered = value.value - moments.mean.value;
    const double distance = value.error + moments.mean.error;
    squares.Add({centered * centered, distance * distance});
  }
  squares.Finish();
  const double variance = squares.value / n + eps;
  moments.scale.value = 1.0 / sqrt(variance);
  moments.scale.error = ScaleError(variance, squares.error / n, RowSumError(count));
  return moments;
}

// One element of the norm, rounded as the engines round.
template <typename Op>
__device__ Estimate ReferenceNormalize(const Estimate& input, const RowMoments& moments,
                                       double weight, double bias) {
  const Estimate centered = Centered(input, moments.mean, moments.scale);
  if constexpr (Op::kNorm == ReferenceNorm::kRms) {
    const Estimate rounded = RoundedTo<Op::kFp16>(centered);
    return RoundedTo<Op::kFp16>({rounded.value * weight, rounded.error * fabs(weight)});
  } else {
    const double factor = Op::kNorm == ReferenceNorm::kRmsPlusOne ? 1.0 + weight : weight;
    return RoundedTo<Op::kFp16>(ScaledAndShifted(centered, factor, bias));
  }
}

// Grid (1, tokens). rows is [tokens, hidden]; sums, for mode add_before_norm, x + residual.
template <typename Op>
__device__ void RunReferenceRows(ReferenceMatrix x, ReferenceMatrix residual,
                                 const ReferenceVectors& vectors, const ReferenceDims& dims,
                                 ReferenceRows rows, u16* sums) {
  const i64 hidden = dims.hidden;
  const i64 token = blockIdx.y;
  const auto input = [&](i64 k) {
    return Estimate{ReferenceInput<Op>(x.Row(token), residual.Row(token), k), 0.0};
  };
  RowMoments moments = {};
  if constexpr (Op::kNorm != ReferenceNorm::kNone)
    moments = ReferenceMoments<Op>(hidden, vectors.eps, input);
  for (i64 k = ReferenceLane(); k < hidden; k += kWarpThreads) {
    Estimate value = input(k);
    if constexpr (Op::kResidual == ReferenceResidual::kAddBeforeNorm)
      sums[token * hidden + k] = BitsOf<Op::kFp16>(value.value);
    if constexpr (Op::kNorm != ReferenceNorm::kNone) {
      const double bias =
          vectors.norm_bias == nullptr ? 0.0 : ToDouble<Op::kFp16>(vectors.norm_bias[k]);
      value =
          ReferenceNormalize<Op>(value, moments, ToDouble<Op::kFp16>(vectors.norm_weight[k]), bias);
    }
    rows.Store(token * hidden + k, value);
  }
}

// A warp multiplies its weight rows with several tokens at a time: the estimates, 16 bytes an
// element, are what is read most, and the warps of a block find each other's in L1.
constexpr int kReferenceTokens = 4;
constexpr int kReferenceWarps = 8;

// Of one weight row with each token of the group, [tokens, count] from `first_token`; those beyond
// the last are the last again. With a bias where the op has it.
template <typename Op>
struct ReferenceProjection {
  Estimate sums[kReferenceTokens];

  __device__ ReferenceProjection(const ReferenceWeights& weights, i64 output,
                                 const ReferenceRows& rows, i64 count, i64 first_token, i64 tokens,
                                 const u16* bias) {
    const u16* const row = weights.values + output * weights.output_stride;
    ReferenceWeightedSum products[kReferenceTokens];
    for (i64 k = ReferenceLane(); k < count; k += kWarpThreads) {
      const double weight = ToDouble<Op::kFp16>(row[k * weights.input_stride]);
#pragma unroll
      for (int i = 0; i < kReferenceTokens; ++i) {
        const i64 token = first_token + i < tokens ? first_token + i : tokens - 1;
        products[i].Add(weight, rows.Load(token * count + k));
      }
    }
#pragma unroll
    for (int i = 0; i < kReferenceTokens; ++i) {
      sums[i] = products[i].Finish(count);
      if (bias != nullptr) sums[i] = Shifted(sums[i], ToDouble<Op::kFp16>(*bias));
    }
  }
};

template <ReferenceActivation kActivation, bool kFp16>
__device__ Estimate ReferenceActivate(const Estimate& g) {
  const double v = g.value;
  if constexpr (kActivation == ReferenceActivation::kSilu) {
    return Activated(v / (1.0 + exp(-v)), g);
  } else if constexpr (kActivation == ReferenceActivation::kGeluErf) {
    return Activated(0.5 * v * erfc(-v * 0.70710678118654752440), g);
  } else if constexpr (kActivation == ReferenceActivation::kGeluTanh) {
    const double u = 0.79788456080286535588 * (v + 0.044715 * v * v * v);
    return Activated(v / (1.0 + exp(-2.0 * u)), g);
  } else if constexpr (kActivation == ReferenceActivation::kGeluNew) {
    return ActivatedInRoundedSteps<kFp16>(g);
  } else {
    if constexpr (kActivation == ReferenceActivation::kReluSquared) return ActivatedSquare(g);
    return Activated(v < 0.0 ? 0.0 : v, g);
  }
}

// Grid (intermediate, tokens) over warps and groups of tokens. h is [tokens, intermediate];
// gate.values is null for a plain ffn.
template <typename Op>
__device__ void RunReferenceIntermediate(const ReferenceWeights& gate, const ReferenceWeights& up,
                                         const ReferenceVectors& vectors, const ReferenceDims& dims,
                                         ReferenceRows rows, ReferenceRows h) {
  const i64 row = ReferenceRow();
  if (row >= dims.intermediate) return;
  const i64 first_token = blockIdx.y * i64{kReferenceTokens};
  const auto project = [&](const ReferenceWeights& weights, const u16* bias) {
    return ReferenceProjection<Op>(weights, row, rows, dims.hidden, first_token, dims.tokens,
                                   Op::kUpBias ? bias + row : nullptr);
  };
  const auto up_sums = project(up, vectors.up_bias);
  auto first_sums = up_sums;
  if constexpr (Op::kGated) first_sums = project(gate, vectors.gate_bias);
  if (ReferenceLane() != 0) return;
#pragma unroll
  for (int i = 0; i < kReferenceTokens; ++i) {
    if (first_token + i >= dims.tokens) return;
    const Estimate first = RoundAsEngine<Op>(first_sums.sums[i]);
    Estimate value = RoundAsEngine<Op>(ReferenceActivate<Op::kActivation, Op::kFp16>(first));
    if constexpr (Op::kGated) value = Product(value, RoundAsEngine<Op>(up_sums.sums[i]));
    h.Store((first_token + i) * dims.intermediate + row, RoundedTo<Op::kFp16>(value));
  }
}

// Grid (hidden, tokens) over warps and groups of tokens. y is [tokens, hidden] with the bound on
// each element: not rounded, but with a residual the block's output is rounded before it is added.
// Mode sandwich: the block's output, rounded, with its distance, for RunReferenceSecondNorm.
template <typename Op>
__device__ void RunReferenceOutput(const ReferenceWeights& down, ReferenceMatrix residual,
                                   const ReferenceVectors& vectors, const ReferenceDims& dims,
                                   ReferenceRows h, ReferenceRows y) {
  const i64 row = ReferenceRow();
  if (row >= dims.hidden) return;
  const i64 first_token = blockIdx.y * i64{kReferenceTokens};
  const ReferenceProjection<Op> projection(down, row, h, dims.intermediate, first_token,
                                           dims.tokens,
                                           Op::kDownBias ? vectors.down_bias + row : nullptr);
  if (ReferenceLane() != 0) return;
#pragma unroll
  for (int i = 0; i < kReferenceTokens; ++i) {
    const i64 token = first_token + i;
    if (token >= dims.tokens) return;
    const Estimate f = projection.sums[i];
    Estimate out;
    if constexpr (Op::kResidual == ReferenceResidual::kSandwich) {
      out = RoundedTo<Op::kFp16>(f);
    } else if constexpr (Op::kResidual == ReferenceResidual::kAddAfter) {
      out = OutputWithResidual<Op::kFp16>(f, ToDouble<Op::kFp16>(residual.Row(token)[row]));
    } else {
      out = Output<Op::kFp16>(f);
    }
    y.Store(token * dims.hidden + row, out);
  }
}

// Grid (1, tokens), in place: y = x + norm(f).
template <typename Op>
__device__ void RunReferenceSecondNorm(ReferenceMatrix x, const ReferenceVectors& vectors,
                                       const ReferenceDims& dims, ReferenceRows y) {
  const i64 hidden = dims.hidden;
  const i64 token = blockIdx.y;
  const auto f = [&](i64 k) { return y.Load(token * hidden + k); };
  const RowMoments moments = ReferenceMoments<Op>(hidden, vectors.eps, f);
  for (i64 k = ReferenceLane(); k < hidden; k += kWarpThreads) {
    const Estimate normalized = ReferenceNormalize<Op>(
        f(k), moments, ToDouble<Op::kFp16>(vectors.second_norm_weight[k]), 0.0);
    const double added = ToDouble<Op::kFp16>(x.Row(token)[k]);
    y.Store(token * hidden + k, Output<Op::kFp16>({added + normalized.value, normalized.error}));
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
