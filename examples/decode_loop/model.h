// The model that the example serves: a few feed-forward blocks, y = down(relu(gate(x)) * up(x)),
// with made-up weights. Small integers, so that every way to compute it gives the same bits and
// results can be compared exactly.
#ifndef FUSEBOX_EXAMPLES_DECODE_LOOP_MODEL_H_
#define FUSEBOX_EXAMPLES_DECODE_LOOP_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace example {

constexpr int64_t kHidden = 512;
constexpr int64_t kIntermediate = 1536;
constexpr size_t kNumLayers = 3;

using Bf16 = uint16_t;  // its bits

// Row-major. A row has at most two weights that are not 0, each 1 or -1: from |x| <= 2^k follow
// |gate|, |up| <= 2^(k+1), |h| <= 2^(2k+2) and |y| <= 2^(2k+3), so that x in {-1, 0, 1} gives at
// most 2^3, 2^9 and 2^21 behind the three blocks: integers that fp32 adds without rounding, in any
// order.
struct Layer {
  std::vector<Bf16> gate_up;  // [2 * kIntermediate, kHidden]: gate rows, then up rows
  std::vector<Bf16> down;     // [kHidden, kIntermediate]
};

std::vector<Layer> MakeLayers();

// [tokens, kHidden] of -1, 0 and 1, another for each step: what embeddings and attention would
// give.
std::vector<Bf16> MakeActivations(int32_t tokens, uint32_t step);

// One block on the CPU: y [tokens, kHidden]. Rounds to bf16 where an engine's separate operations
// do, and where Fusebox does: each projection, the activation, its product with up, the result.
void RunBlock(const Layer& layer, int32_t tokens, const Bf16* x, Bf16* y);

// How many values differ.
size_t CountDifferences(const std::vector<Bf16>& a, const std::vector<Bf16>& b);

}  // namespace example

#endif  // FUSEBOX_EXAMPLES_DECODE_LOOP_MODEL_H_
