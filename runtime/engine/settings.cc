#include "runtime/engine/settings.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/engine/struct_size.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

absl::Status OutOfRange(const char* field, int64_t value, std::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat("fusebox_engine_options::", field, " is ", value, "; accepted: ", accepted));
}

absl::Status ApplyCompile(const fusebox_engine_options& options, Config* config) {
  switch (options.compile_mode) {
    case FUSEBOX_COMPILE_DEFAULT:
      break;
    case FUSEBOX_COMPILE_BACKGROUND:
      config->compile_mode = CompileMode::kBackground;
      break;
    case FUSEBOX_COMPILE_BLOCK:
      config->compile_mode = CompileMode::kBlock;
      break;
    case FUSEBOX_COMPILE_NEVER:
      config->compile_mode = CompileMode::kNever;
      break;
    default:
      return OutOfRange("compile_mode", options.compile_mode, "FUSEBOX_COMPILE_* (0 to 3)");
  }
  if (options.compile_threads < 0 || options.compile_threads > kMaxCompileThreads) {
    return OutOfRange("compile_threads", options.compile_threads,
                      absl::StrCat("0 (default) to ", kMaxCompileThreads));
  }
  if (options.compile_threads > 0) config->compile_threads = options.compile_threads;
  return absl::OkStatus();
}

// Leaves `target` as it is by default.
absl::Status ApplySwitch(const char* field, fusebox_switch value, bool* target) {
  switch (value) {
    case FUSEBOX_SWITCH_DEFAULT:
      return absl::OkStatus();
    case FUSEBOX_SWITCH_ON:
      *target = true;
      return absl::OkStatus();
    case FUSEBOX_SWITCH_OFF:
      *target = false;
      return absl::OkStatus();
    default:
      return OutOfRange(field, value, "FUSEBOX_SWITCH_* (0 to 2)");
  }
}

absl::Status ApplyPdl(const fusebox_engine_options& options, Config* config) {
  bool pdl = config->pdl == PdlMode::kOn;
  FUSEBOX_RETURN_IF_ERROR(ApplySwitch("pdl", options.pdl, &pdl));
  config->pdl = pdl ? PdlMode::kOn : PdlMode::kOff;
  return absl::OkStatus();
}

absl::Status ApplyLog(const fusebox_engine_options& options, Config* config) {
  if (options.log_level < FUSEBOX_LOG_DEFAULT || options.log_level > FUSEBOX_LOG_OFF) {
    return OutOfRange("log_level", options.log_level, "FUSEBOX_LOG_* (0 to 6)");
  }
  if (options.log_level != FUSEBOX_LOG_DEFAULT) {
    config->log_level = static_cast<LogLevel>(options.log_level);  // same numbers
  }
  return absl::OkStatus();
}

static_assert(static_cast<int>(LogLevel::kTrace) == FUSEBOX_LOG_TRACE &&
                  static_cast<int>(LogLevel::kOff) == FUSEBOX_LOG_OFF,
              "LogLevel must have the numbers of fusebox_log_level");

}  // namespace

absl::StatusOr<EngineSettings> MakeSettings(const fusebox_engine_options* options,
                                            const Environment& environment) {
  EngineSettings settings;
  FUSEBOX_ASSIGN_OR_RETURN(settings.config, ReadConfig(environment));
  if (options == nullptr) return settings;
  fusebox_engine_options known;
  FUSEBOX_RETURN_IF_ERROR(ReadStruct(options, "fusebox_engine_options", &known));
  if (known.device_ordinal < kNoDevice) {
    return OutOfRange("device_ordinal", known.device_ordinal, "-1 (no GPU) or a CUDA ordinal");
  }
  settings.device_ordinal = known.device_ordinal;
  if (known.device_profile != nullptr) settings.config.device_profile = known.device_profile;
  if (known.cache_dirs != nullptr) settings.config.cache_dirs = SplitColonList(known.cache_dirs);
  FUSEBOX_RETURN_IF_ERROR(ApplyCompile(known, &settings.config));
  FUSEBOX_RETURN_IF_ERROR(ApplyPdl(known, &settings.config));
  FUSEBOX_RETURN_IF_ERROR(
      ApplySwitch("decline_slower", known.decline_slower, &settings.config.decline_slower));
  FUSEBOX_RETURN_IF_ERROR(ApplyLog(known, &settings.config));
  settings.log_callback = known.log_callback;
  settings.log_user = known.log_user;
  return settings;
}

}  // namespace fusebox
