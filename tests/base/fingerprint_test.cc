#include "src/base/fingerprint.h"

#include <gtest/gtest.h>

#include "src/base/status.h"

namespace fusebox {
namespace {

// Cache directories are named after fingerprints: these values must never change.
TEST(FingerprintTest, IsStable) {
  EXPECT_EQ(FingerprintOf("").ToHex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(Fingerprinter().Add("label", "value").Finish(), FingerprintOf("5:label5:value;"));
}

TEST(FingerprintTest, FieldBordersCount) {
  EXPECT_NE(Fingerprinter().Add("ab", "c").Finish(), Fingerprinter().Add("a", "bc").Finish());
  EXPECT_NE(Fingerprinter().Add("a", "").Add("b", "").Finish(),
            Fingerprinter().Add("b", "").Add("a", "").Finish());
}

TEST(StatusTest, ADeclineNamesItsRule) {
  const absl::Status status = Declined("row_pitch", "4100 is not a multiple of 8");
  EXPECT_TRUE(IsDeclined(status));
  EXPECT_EQ(status.message(), "row_pitch: 4100 is not a multiple of 8");
  EXPECT_FALSE(IsDeclined(absl::InternalError("row_pitch")));
}

}  // namespace
}  // namespace fusebox
