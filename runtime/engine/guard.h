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
  return CatchExceptions([&] { return Record(body()); },
                         [](absl::StatusCode code, std::string_view message) {
                           return RecordFailure(CodeOf(absl::Status(code, "")), message);
                         });
}

// InvalidArgument unless `pointer` is set.
absl::Status RequireSet(const void* pointer, std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_GUARD_H_
