// The device oracle against the fp64 oracle of tests/reference: y, and the bound on each element.
#include "runtime/tools/verify_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/gpu/device_case.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/reference/ffn_oracle.h"
#include "tests/reference/variant_problems.h"

namespace fusebox {
namespace {

class DeviceReferenceTest : public GpuTest {};

// Both sum in fp64 in their own order, and exp and erfc differ in the last places; a bound may be
// that of the other side of a rounding of h only where h lies on a tie within 1e-15.
constexpr double kCloseness = 1e-6;

void ExpectClose(const reference::FfnReference& host, const DeviceExpectation& device,
                 const std::string& description) {
  ASSERT_EQ(host.y.size(), device.y.size());
  for (size_t i = 0; i < host.y.size(); ++i) {
    ASSERT_LE(std::abs(device.y[i] - host.y[i]), kCloseness * host.tolerance[i])
        << description << " element " << i << ": " << device.y[i] << ", host " << host.y[i];
    ASSERT_LE(std::abs(device.tolerance[i] - host.tolerance[i]), kCloseness * host.tolerance[i])
        << description << " bound " << i << ": " << device.tolerance[i] << ", host "
        << host.tolerance[i];
  }
}

TEST_F(DeviceReferenceTest, EqualsTheHostOracleOnRandomValues) {
  for (const auto& [hidden, intermediate] :
       {std::pair(8, 8), std::pair(96, 360), std::pair(520, 1000)}) {
    for (const FfnProblem& problem : VariantProblems(hidden, intermediate)) {
      const reference::FfnCase values = reference::MakeRandomCase(problem, 5, 11);
      ASSERT_OK_AND_ASSIGN(const DeviceCase on_device,
                           DeviceCase::Make(gpu(), values, {.padding = 8}));
      ASSERT_OK_AND_ASSIGN(const LaunchBuffers buffers,
                           LaunchBuffers::Make(gpu(), problem, 65536, {.x = 8, .residual = 24}));
      ASSERT_STATUS_OK(on_device.Load(buffers, values.tokens));
      ASSERT_OK_AND_ASSIGN(const DeviceReference oracle, DeviceReference::Load(gpu(), problem));
      FfnOperandViews views = on_device.views();
      views.x = buffers.x().View(values.tokens);
      views.residual = buffers.residual().View(values.tokens);
      ASSERT_OK_AND_ASSIGN(const DeviceExpectation device, oracle.Compute(views));
      const reference::FfnReference host = reference::ComputeReference(values);
      ExpectClose(host, device, values.description);
      EXPECT_EQ(device.sums, host.residual_out) << values.description;
    }
  }
}

TEST_F(DeviceReferenceTest, CountsWhatIsOutsideTheBound) {
  const DeviceExpectation expected = {
      .y = {1.0, 2.0, 3.0, 4.0}, .tolerance = {0.1, 0.1, 0.1, 0.1}, .sums = {1, 2, 3, 4}};
  const std::vector<uint16_t> y = {0x3f80, 0x7fc0, 0x4040, 0x4090};  // 1, NaN, 3, 4.5
  const BoundComparison comparison = CompareWithin(expected, y, 2);
  EXPECT_EQ(comparison.num_wrong, 2);
  EXPECT_NEAR(comparison.worst_ratio, 5.0, 1e-6);
  EXPECT_NE(comparison.first_wrong.find("y[token 0, 1] is nan"), std::string::npos)
      << comparison.first_wrong;
  EXPECT_EQ(DifferenceOfSums(expected, std::vector<uint16_t>{1, 2, 3, 4}, 2), "");
  EXPECT_NE(DifferenceOfSums(expected, std::vector<uint16_t>{1, 2, 3, 5}, 2)
                .find("residual_out[token 1, 1]"),
            std::string::npos);
}

}  // namespace
}  // namespace fusebox
