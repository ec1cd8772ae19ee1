// Norms of a row, eight elements at a time: values in fp32, rounded where the engines round.
#ifndef FUSEBOX_KERNELS_TEMPLATES_TILE_ROW_NORM_CUH_
#define FUSEBOX_KERNELS_TEMPLATES_TILE_ROW_NORM_CUH_

#include "kernels_templates/ptx/convert.cuh"
#include "kernels_templates/ptx/global_memory.cuh"
#include "kernels_templates/tile/ffn_workspace.cuh"

namespace fusebox {

// Eight neighbours of a row as fp32.
template <typename Plan>
struct Elements8 {
  float values[8];
};

template <typename Plan>
__device__ __forceinline__ Elements8<Plan> LoadElements(const u16* address) {
  const ptx::Words4 words = ptx::LoadWords(address);
  const u32 packed[4] = {words.x, words.y, words.z, words.w};
  Elements8<Plan> elements;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    elements.values[i] = ptx::Widen<Plan::kDType>(static_cast<u16>(packed[i / 2] >> (i % 2 * 16)));
  return elements;
}

// The values must be representable in the dtype, or are rounded here.
template <typename Plan>
__device__ __forceinline__ void StoreElements(u16* address, const Elements8<Plan>& elements) {
  const float* v = elements.values;
  ptx::StoreWords(address,
                  {ptx::Pack<Plan::kDType>(v[0], v[1]), ptx::Pack<Plan::kDType>(v[2], v[3]),
                   ptx::Pack<Plan::kDType>(v[4], v[5]), ptx::Pack<Plan::kDType>(v[6], v[7])});
}

__device__ __forceinline__ float WarpSum(float value) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// RMS: round(x * scale) * w, as vLLM and Hugging Face; (1 + w) in fp32, rounded once, as Gemma;
// LayerNorm: (x - mean) * scale * w + b in fp32, rounded once. The caller's store rounds.
template <typename Plan, Norm kNorm>
__device__ __forceinline__ Elements8<Plan> Normalize(const Elements8<Plan>& input, float mean,
                                                     float scale, const u16* weight,
                                                     const u16* bias, u32 column) {
  const auto w = LoadElements<Plan>(weight + column);
  Elements8<Plan> output;
  Elements8<Plan> b = {};
  if (kNorm == Norm::kLayer && bias != nullptr) b = LoadElements<Plan>(bias + column);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float centered = (input.values[i] - mean) * scale;
    if constexpr (kNorm == Norm::kRms) {
      output.values[i] = ptx::Round<Plan::kDType>(centered) * w.values[i];
    } else if constexpr (kNorm == Norm::kRmsPlusOne) {
      output.values[i] = centered * (1.0f + w.values[i]);
    } else {
      output.values[i] = centered * w.values[i] + b.values[i];
    }
  }
  return output;
}

}  // namespace fusebox

#endif  // FUSEBOX_KERNELS_TEMPLATES_TILE_ROW_NORM_CUH_
