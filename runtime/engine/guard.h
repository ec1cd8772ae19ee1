// Guard runs the body of a C API entry: a Status becomes a code and the thread's message, and no
// exception leaves.
#ifndef FUSEBOX_RUNTIME_ENGINE_GUARD_H_
#define FUSEBOX_RUNTIME_ENGINE_GUARD_H_

#include <string_view>

#include "absl/status/status.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/last_error.h"

namespace fusebox {

// `body` returns an absl::Status.
template <typename Body>
fusebox_status Guard(Body&& body) noexcept {
  try {
    return Record(body());
  } catch (...) {
    const ExceptionReport report = DescribeException();
    const bool no_memory = report.code == absl::StatusCode::kResourceExhausted;
    return RecordFailure(no_memory ? FUSEBOX_OUT_OF_MEMORY : FUSEBOX_INTERNAL, report.sentence);
  }
}

// InvalidArgument unless `pointer` is set.
absl::Status RequireSet(const void* pointer, std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_GUARD_H_
