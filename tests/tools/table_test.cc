#include "runtime/tools/table.h"

#include <gtest/gtest.h>

#include "runtime/tools/progress.h"

namespace fusebox {
namespace {

TEST(TableTest, AlignsTextLeftAndFiguresRight) {
  Table table({{"op"}, {"us", Align::kRight}, {"plan"}});
  table.AddRow({"ffn", "9.5", "c8"});
  table.AddRow({"a longer op", "120.25", "-"});
  EXPECT_EQ(table.ToText(),
            "op               us  plan\n"
            "-----------  ------  ----\n"
            "ffn             9.5  c8\n"
            "a longer op  120.25  -\n");
}

TEST(TableTest, BytesHaveUnits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(BytesText(int64_t{5000} << 40), "5000.0 TiB");
}

TEST(ProgressTest, BarGrowsAndIsCutToTheTerminal) {
  EXPECT_EQ(Progress::BarText(0, 4, "a", "cached", 80), "[....................] 0/4  a: cached");
  EXPECT_EQ(Progress::BarText(2, 4, "a", "cached", 80), "[##########..........] 2/4  a: cached");
  EXPECT_EQ(Progress::BarText(4, 4, "a", "cached", 24), "[####################] 4");
  EXPECT_EQ(Progress::BarText(0, 0, "a", "cached", 22), "[####################]");
  EXPECT_EQ(Progress::BarText(1, 1, "a", "cached", -3), "");
}

}  // namespace
}  // namespace fusebox
