// The decode loop of examples/ on a GPU: prepared batches run fused, and every result is right.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "examples/decode_loop/decode_loop.h"
#include "tests/gpu/find_hopper.h"
#include "tests/tools/command_runner.h"

namespace fusebox {
namespace {

TEST(DecodeLoopGpuTest, PreparedBatchesRunFusedAndAllResultsAreRight) {
  const absl::Status found = FindHopper();
  if (!found.ok()) GTEST_SKIP() << found;
  const TemporaryFolder cache;
  ASSERT_EQ(setenv("FUSEBOX_CACHE_DIR", cache.path().c_str(), /*overwrite=*/1), 0);
  EXPECT_EQ(example::RunDecodeLoop(), example::kDone);
}

}  // namespace
}  // namespace fusebox
