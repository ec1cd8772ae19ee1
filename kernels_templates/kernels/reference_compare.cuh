// Compares what a kernel wrote with the device oracle's values, on the device, and reports to
// memory that the host can read: for shadow launches, which nobody waits for.
//
// Memory-model rule: the report is written with ordinary stores by one thread, then its sequence
// with a release at system scope; a host that sees the sequence sees the report.
#ifndef FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_COMPARE_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_COMPARE_CUH_

#include "kernels_templates/kernels/ffn_reference.cuh"

namespace fusebox {

// As the struct of that name in runtime/launch/reference_kernels.h.
struct ReferenceReport {
  i64 num_wrong;       // elements of y outside their bound
  i64 num_unjudged;    // elements without a finite value and bound
  i64 worst;           // index of the one that is furthest outside; [tokens, hidden], dense
  double worst_ratio;  // its distance over its bound; infinity for a NaN
  double got;
  double expected;
  i64 num_wrong_sums;   // elements of residual_out that are not x + residual, bit for bit
  i64 first_wrong_sum;  // index
  u64 sequence;         // written last
};

// All zero: nothing was found.
struct ReferenceFinding {
  i64 num_wrong;
  i64 num_unjudged;
  i64 worst;
  double worst_ratio;
  i64 num_wrong_sums;
  i64 first_wrong_sum;

  __device__ void Join(const ReferenceFinding& other) {
    num_wrong += other.num_wrong;
    num_unjudged += other.num_unjudged;
    if (other.worst_ratio > worst_ratio) {
      worst_ratio = other.worst_ratio;
      worst = other.worst;
    }
    if (other.num_wrong_sums > 0 &&
        (num_wrong_sums == 0 || other.first_wrong_sum < first_wrong_sum))
      first_wrong_sum = other.first_wrong_sum;
    num_wrong_sums += other.num_wrong_sums;
  }
};

constexpr int kCompareThreads = 1024;

// One block of kCompareThreads. `sums` null: there is no residual_out.
template <typename Op>
__device__ void RunReferenceCompare(ReferenceMatrix y, ReferenceMatrix residual_out,
                                    const ReferenceDims& dims, ReferenceRows expected,
                                    const u16* sums, ReferenceReport* report, u64 sequence) {
  __shared__ ReferenceFinding findings[kCompareThreads];
  ReferenceFinding mine = {};
  for (i64 i = threadIdx.x; i < dims.tokens * dims.hidden; i += kCompareThreads) {
    const i64 token = i / dims.hidden;
    const i64 column = i % dims.hidden;
    const double got = ToDouble<Op::kFp16>(y.Row(token)[column]);
    const Estimate estimate = expected.Load(i);
    const double distance = fabs(got - estimate.value);
    // A value that is not finite is the inputs' doing, a bound that is not is no bound.
    if (!(fabs(estimate.value) + estimate.error <= 1.7976931348623157e308)) {
      ++mine.num_unjudged;
    } else if (!(distance <= estimate.error)) {
      const double ratio = distance / estimate.error;
      ReferenceFinding one = {};
      one.num_wrong = 1;
      one.worst = i;
      one.worst_ratio = ratio >= 0.0 ? ratio : __longlong_as_double(0x7ff0000000000000ll);
      mine.Join(one);
    }
    if (sums != nullptr && residual_out.Row(token)[column] != sums[i]) {
      ReferenceFinding one = {};
      one.num_wrong_sums = 1;
      one.first_wrong_sum = i;
      mine.Join(one);
    }
  }
  findings[threadIdx.x] = mine;
  __syncthreads();
  for (int width = kCompareThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) findings[threadIdx.x].Join(findings[threadIdx.x + width]);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const ReferenceFinding& all = findings[0];
  report->num_wrong = all.num_wrong;
  report->num_unjudged = all.num_unjudged;
  report->worst = all.worst;
  report->worst_ratio = all.worst_ratio;
  report->got = ToDouble<Op::kFp16>(y.Row(all.worst / dims.hidden)[all.worst % dims.hidden]);
  report->expected = expected.values[all.worst];
  report->num_wrong_sums = all.num_wrong_sums;
  report->first_wrong_sum = all.first_wrong_sum;
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(&report->sequence), "l"(sequence)
               : "memory");
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_KERNELS_REFERENCE_COMPARE_CUH_
