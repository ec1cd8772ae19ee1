// The slow oracle of the ffn on the device, for dims that the fp64 oracle of tests/reference is too
// slow for: fp64 loops, one warp an element or a token, rounded to the dtype where the op rounds.
// Beside each value it keeps the bound on a kernel's distance from it that
// tests/reference/error_bound.h derives; a test on the GPU holds both against that oracle. Shares
// nothing with the ffn kernel. Four kernels in turn: rows (what the block reads), intermediate
// (h), output (y), and for the residual mode "sandwich" second_norm.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_

#include "kernels_templates/kernels/reference_value.cuh"

namespace fusebox {

enum class ReferenceActivation { kSilu, kGeluErf, kGeluTanh, kRelu, kReluSquared };
enum class ReferenceNorm { kNone, kRms, kRmsPlusOne, kLayer };
enum class ReferenceResidual { kNone, kAddBeforeNorm, kAddAfter, kSandwich };

// Row-major, 16-bit; stride in elements.
struct ReferenceMatrix {
  const u16* values;
  i64 row_stride;

  __device__ const u16* Row(i64 row) const { return values + row * row_stride; }
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
    for (i64 k = threadIdx.x; k < count; k += kWarpThreads) sum.Add(input(k));
    sum.Finish();
    const double error = sum.error + RowSumError(count) * sum.magnitude;
    moments.mean = {sum.value / n, MeanError(sum.value / n, error / n)};
  }
  ReferenceSum squares;
  for (i64 k = threadIdx.x; k < count; k += kWarpThreads) {
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
                                 const ReferenceVectors& vectors, i64 hidden, ReferenceRows rows,
                                 u16* sums) {
  const i64 token = blockIdx.y;
  const auto input = [&](i64 k) {
    return Estimate{ReferenceInput<Op>(x.Row(token), residual.Row(token), k), 0.0};
  };
  RowMoments moments = {};
  if constexpr (Op::kNorm != ReferenceNorm::kNone)
    moments = ReferenceMoments<Op>(hidden, vectors.eps, input);
  for (i64 k = threadIdx.x; k < hidden; k += kWarpThreads) {
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

// The dot product of one weight row with one row of estimates, and a bias where the op has it.
template <typename Op>
__device__ Estimate ReferenceProjection(const u16* weights, const ReferenceRows& rows, i64 first,
                                        i64 count, const u16* bias) {
  ReferenceWeightedSum sum;
  for (i64 k = threadIdx.x; k < count; k += kWarpThreads)
    sum.Add(ToDouble<Op::kFp16>(weights[k]), rows.Load(first + k));
  const Estimate product = sum.Finish(count);
  return bias == nullptr ? product : Shifted(product, ToDouble<Op::kFp16>(*bias));
}

template <ReferenceActivation kActivation>
__device__ Estimate ReferenceActivate(const Estimate& g) {
  const double v = g.value;
  if constexpr (kActivation == ReferenceActivation::kSilu) {
    return Activated(v / (1.0 + exp(-v)), g);
  } else if constexpr (kActivation == ReferenceActivation::kGeluErf) {
    return Activated(0.5 * v * erfc(-v * 0.70710678118654752440), g);
  } else if constexpr (kActivation == ReferenceActivation::kGeluTanh) {
    const double u = 0.79788456080286535588 * (v + 0.044715 * v * v * v);
    return Activated(v / (1.0 + exp(-2.0 * u)), g);
  } else {
    if constexpr (kActivation == ReferenceActivation::kReluSquared) return ActivatedSquare(g);
    return Activated(v < 0.0 ? 0.0 : v, g);
  }
}

// Grid (intermediate, tokens). h is [tokens, intermediate]; gate.values is null for a plain ffn.
template <typename Op>
__device__ void RunReferenceIntermediate(ReferenceMatrix gate, ReferenceMatrix up,
                                         const ReferenceVectors& vectors, i64 hidden,
                                         ReferenceRows rows, ReferenceRows h) {
  const i64 row = blockIdx.x;
  const i64 token = blockIdx.y;
  const auto project = [&](const ReferenceMatrix& matrix, const u16* bias) {
    return RoundAsEngine<Op>(ReferenceProjection<Op>(matrix.Row(row), rows, token * hidden, hidden,
                                                     Op::kUpBias ? bias + row : nullptr));
  };
  const Estimate u = project(up, vectors.up_bias);
  Estimate value = u;
  if constexpr (Op::kGated) value = project(gate, vectors.gate_bias);
  value = RoundAsEngine<Op>(ReferenceActivate<Op::kActivation>(value));
  if constexpr (Op::kGated) value = Product(value, u);
  if (threadIdx.x == 0) h.Store(token * gridDim.x + row, RoundedTo<Op::kFp16>(value));
}

// Grid (hidden, tokens). y is [tokens, hidden] with the bound on each element: not rounded, but
// with a residual the block's output is rounded before it is added. Mode sandwich: the block's
// output, rounded, with its distance, for RunReferenceSecondNorm.
template <typename Op>
__device__ void RunReferenceOutput(ReferenceMatrix down, ReferenceMatrix residual,
                                   const ReferenceVectors& vectors, i64 intermediate,
                                   ReferenceRows h, ReferenceRows y) {
  const i64 row = blockIdx.x;
  const i64 token = blockIdx.y;
  const Estimate f = ReferenceProjection<Op>(down.Row(row), h, token * intermediate, intermediate,
                                             Op::kDownBias ? vectors.down_bias + row : nullptr);
  if (threadIdx.x != 0) return;
  Estimate out;
  if constexpr (Op::kResidual == ReferenceResidual::kSandwich) {
    out = RoundedTo<Op::kFp16>(f);
  } else if constexpr (Op::kResidual == ReferenceResidual::kAddAfter) {
    out = OutputWithResidual<Op::kFp16>(f, ToDouble<Op::kFp16>(residual.Row(token)[row]));
  } else {
    out = Output<Op::kFp16>(f);
  }
  y.Store(token * gridDim.x + row, out);
}

// Grid (1, tokens), in place: y = x + norm(f).
template <typename Op>
__device__ void RunReferenceSecondNorm(ReferenceMatrix x, const ReferenceVectors& vectors,
                                       i64 hidden, ReferenceRows y) {
  const i64 token = blockIdx.y;
  const auto f = [&](i64 k) { return y.Load(token * hidden + k); };
  const RowMoments moments = ReferenceMoments<Op>(hidden, vectors.eps, f);
  for (i64 k = threadIdx.x; k < hidden; k += kWarpThreads) {
    const Estimate normalized = ReferenceNormalize<Op>(
        f(k), moments, ToDouble<Op::kFp16>(vectors.second_norm_weight[k]), 0.0);
    const double added = ToDouble<Op::kFp16>(x.Row(token)[k]);
    y.Store(token * hidden + k, Output<Op::kFp16>({added + normalized.value, normalized.error}));
  }
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_FFN_REFERENCE_CUH_
