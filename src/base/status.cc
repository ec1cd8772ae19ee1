#include "src/base/status.h"

#include "absl/strings/str_cat.h"

namespace fusebox {

absl::Status Declined(std::string_view rule, std::string_view sentence) {
  return absl::UnimplementedError(absl::StrCat(rule, ": ", sentence));
}

bool IsDeclined(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnimplemented;
}

}  // namespace fusebox
