#include "runtime/compile/ptxas_report.h"

#include <gtest/gtest.h>

namespace fusebox {
namespace {

constexpr char kClean[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 72 registers, used 1 barriers, 128 bytes smem\n"
    "ptxas info    : Compile time = 8.284 ms\n";

TEST(PtxasReportTest, ReadsACleanKernel) {
  const auto resources = ParsePtxasReport(kClean);
  ASSERT_TRUE(resources.ok()) << resources.status();
  EXPECT_EQ(*resources, (KernelResources{.registers = 72, .static_smem_bytes = 128}));
  EXPECT_FALSE(resources->Spills());
}

TEST(PtxasReportTest, ReadsSpillsOfCuda12sFormat) {
  const auto resources = ParsePtxasReport(
      "ptxas info    : Function properties for k\n"
      "    40 bytes stack frame, 36 bytes spill stores, 52 bytes spill loads\n"
      "ptxas info    : Used 168 registers, 380 bytes cmem[0]\n");
  ASSERT_TRUE(resources.ok());
  EXPECT_EQ(resources->stack_bytes, 40);
  EXPECT_EQ(resources->spill_store_bytes, 36);
  EXPECT_EQ(resources->spill_load_bytes, 52);
  EXPECT_TRUE(resources->Spills());
}

TEST(PtxasReportTest, CountsLocalMemoryWithoutSpillsAsSpilling) {
  const auto resources = ParsePtxasReport(
      "    256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 32 registers\n");
  ASSERT_TRUE(resources.ok());
  EXPECT_TRUE(resources->Spills());
}

TEST(PtxasReportTest, AddsUpFunctionsThatWereNotInlined) {
  const auto resources = ParsePtxasReport(
      "ptxas info    : Function properties for f\n"
      "    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 100 registers\n");
  ASSERT_TRUE(resources.ok());
  EXPECT_EQ(resources->spill_store_bytes, 12);
}

TEST(PtxasReportTest, SeesThatSetmaxnregWasIgnored) {
  const auto resources = ParsePtxasReport(
      std::string("ptxas warning : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n") +
      kClean);
  ASSERT_TRUE(resources.ok());
  EXPECT_TRUE(resources->setmaxnreg_ignored);
}

TEST(PtxasReportTest, RefusesALogWithoutRegisters) {
  EXPECT_EQ(ParsePtxasReport("").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ParsePtxasReport("many registers were used").status().code(),
            absl::StatusCode::kInternal);
}

TEST(PtxasReportTest, KeepsTheLogFreeOfTimes) {
  EXPECT_EQ(WithoutTimings("a\nptxas info    : Compile time = 8.284 ms\nb\n"), "a\nb\n");
}

}  // namespace
}  // namespace fusebox
