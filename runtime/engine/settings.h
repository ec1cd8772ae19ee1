// EngineSettings is what an engine is made with: the environment's Config with the caller's options
// laid over it. Invariant: settings from MakeSettings are valid. A value; no threads.
#ifndef FUSEBOX_RUNTIME_ENGINE_SETTINGS_H_
#define FUSEBOX_RUNTIME_ENGINE_SETTINGS_H_

#include "absl/status/statusor.h"
#include "fusebox/fusebox.h"
#include "runtime/config/config.h"

namespace fusebox {

constexpr int kNoDevice = -1;  // plan and compile for a named profile only

struct EngineSettings {
  Config config;
  int device_ordinal = 0;
  fusebox_log_callback log_callback = nullptr;
  void* log_user = nullptr;
};

// `options` may be null. InvalidArgument for a value that is none of the enum's, or a bad knob.
absl::StatusOr<EngineSettings> MakeSettings(const fusebox_engine_options* options,
                                            const Environment& environment);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_SETTINGS_H_
