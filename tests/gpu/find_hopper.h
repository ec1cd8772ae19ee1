// Whether this machine has the GPU that tests labelled gpu need; they skip only where it has none.
#ifndef FUSEBOX_TESTS_GPU_FIND_HOPPER_H_
#define FUSEBOX_TESTS_GPU_FIND_HOPPER_H_

#include "absl/status/status.h"

namespace fusebox {

// OK, or why there is no Hopper GPU with ordinal 0.
absl::Status FindHopper();

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_GPU_FIND_HOPPER_H_
