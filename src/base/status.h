// Status helpers: the macros that pass errors up, and the constructor of a refusal that names its
// rule. Codes by whose fault: InvalidArgument caller, FailedPrecondition machine,
// Unimplemented no legal plan (declined), ResourceExhausted does not fit, DataLoss bad cache entry,
// Internal our bug.
#ifndef FUSEBOX_SRC_BASE_STATUS_H_
#define FUSEBOX_SRC_BASE_STATUS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fusebox {

// A legal request that no plan serves: "rule: sentence". Becomes FUSEBOX_DECLINED at the C API.
absl::Status Declined(std::string_view rule, std::string_view sentence);

// True when `status` came from Declined (code kUnimplemented).
bool IsDeclined(const absl::Status& status);

}  // namespace fusebox

#define FUSEBOX_RETURN_IF_ERROR(expression)            \
  do {                                                 \
    ::absl::Status fusebox_status_ = (expression);     \
    if (!fusebox_status_.ok()) return fusebox_status_; \
  } while (false)

#define FUSEBOX_CONCAT_INNER(a, b) a##b
#define FUSEBOX_CONCAT(a, b) FUSEBOX_CONCAT_INNER(a, b)

// Declares or assigns `target` from a StatusOr, or returns its error.
#define FUSEBOX_ASSIGN_OR_RETURN(target, expression) \
  FUSEBOX_ASSIGN_OR_RETURN_NAMED(FUSEBOX_CONCAT(fusebox_statusor_, __LINE__), target, expression)

#define FUSEBOX_ASSIGN_OR_RETURN_NAMED(name, target, expression) \
  auto name = (expression);                                      \
  if (!name.ok()) return std::move(name).status();               \
  target = *std::move(name)

#endif  // FUSEBOX_SRC_BASE_STATUS_H_
