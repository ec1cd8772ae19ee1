// RuleList says in words what each rule holds that can decline an op, and what a user can do about
// it: for `fusebox plan --rules` and beside each decline. Invariant: it has every rule of
// src/plan/legality (tested). Values; no threads.
#ifndef FUSEBOX_RUNTIME_TOOLS_RULE_LIST_H_
#define FUSEBOX_RUNTIME_TOOLS_RULE_LIST_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace fusebox {

struct RuleText {
  std::string_view name;
  std::string_view about;  // "model", "op", "plan" or "call"
  std::string_view holds;
  std::string_view help;  // empty: nothing but to run one's own path
};

absl::Span<const RuleText> RuleList();

// What helps where this rule declines; empty for an unknown one.
std::string_view HelpFor(std::string_view rule);

// A decline's message in its parts: "rule: sentence".
struct Decline {
  std::string rule;
  std::string sentence;
};
Decline SplitDecline(std::string_view message);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_RULE_LIST_H_
