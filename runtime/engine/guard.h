// Guard runs the body of a C API entry: a Status becomes a code and the thread's message, and no
// exception leaves.
#ifndef FUSEBOX_RUNTIME_ENGINE_GUARD_H_
#define FUSEBOX_RUNTIME_ENGINE_GUARD_H_

#include <new>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/engine/last_error.h"

namespace fusebox {

// `body` returns an absl::Status.
template <typename Body>
fusebox_status Guard(Body&& body) noexcept {
  try {
    return Record(body());
  } catch (const std::bad_alloc&) {
    return RecordFailure(FUSEBOX_OUT_OF_MEMORY, "the host has no memory left for this call");
  } catch (...) {
    return RecordFailure(FUSEBOX_INTERNAL,
                         "an exception reached the C API; please report the call that did it");
  }
}

// InvalidArgument unless `pointer` is set.
absl::Status RequireSet(const void* pointer, std::string_view name);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_GUARD_H_
