// Broken plan texts: each ends in a plan that prints and parses back to itself or in a sentence,
// never in a crash.
#include <gtest/gtest.h>

#include <string>

#include "src/plan/fusion_plan.h"
#include "tests/fuzz/text_mutator.h"
#include "tests/plan/some_plan.h"

namespace fusebox {
namespace {

constexpr int kVariants = 20000;

TEST(PlanJsonFuzzTest, APlanParsesBackToItself) {
  const absl::StatusOr<FusionPlan> parsed = FusionPlan::FromJson(SomePlan().ToJson());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, SomePlan());
}

TEST(PlanJsonFuzzTest, AnyTextGivesAPlanThatPrintsBackOrASentence) {
  const std::string seed = SomePlan().ToJson();
  TextMutator mutator(7);
  int accepted = 0;
  for (int variant = 0; variant < kVariants; ++variant) {
    const std::string text = mutator.Mutate(seed);
    const absl::StatusOr<FusionPlan> plan = FusionPlan::FromJson(text);
    if (!plan.ok()) {
      EXPECT_FALSE(plan.status().message().empty()) << text;
      EXPECT_EQ(plan.status().message().find('\n'), std::string::npos) << plan.status() << "\n"
                                                                       << text;
      continue;
    }
    ++accepted;
    const absl::StatusOr<FusionPlan> again = FusionPlan::FromJson(plan->ToJson());
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(*again, *plan) << text;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace fusebox
