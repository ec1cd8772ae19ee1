// The last failure of each thread, and the mapping of a Status to the C API's codes.
// Invariant: recording a failure allocates nothing, so the launch path may do it. Thread-local, so
// thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_LAST_ERROR_H_
#define FUSEBOX_RUNTIME_ENGINE_LAST_ERROR_H_

#include <string_view>

#include "absl/status/status.h"
#include "fusebox/types.h"

namespace fusebox {

// The C API's code for `status`; by whose fault, see types.h.
fusebox_status CodeOf(const absl::Status& status);

// Keeps the message (cut to what fits) and returns `code`.
fusebox_status RecordFailure(fusebox_status code, std::string_view message);
fusebox_status RecordFailureF(fusebox_status code, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// Records a failure; OK leaves the last message as it is.
fusebox_status Record(const absl::Status& status);

const char* LastErrorMessage();

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_LAST_ERROR_H_
