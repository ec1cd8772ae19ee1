// The README's example is compiled and linked into this program, with all of its functions; a
// launch without a binding is refused with a sentence, as the example's first line says.
#include <gtest/gtest.h>

#include "fusebox/fusebox.hpp"

namespace {

TEST(ExampleTest, AStepWithoutAStartIsRefusedWithASentence) {
  const fusebox::api::Binding binding;
  EXPECT_EQ(binding.LaunchFfn(fusebox::api::FfnArgs(), nullptr).code(), FUSEBOX_INVALID_ARGUMENT);
  EXPECT_STRNE(fusebox::api::LastErrorMessage(), "");
}

}  // namespace
