#include "runtime/config/config.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr Knob kKnobs[] = {
#define FUSEBOX_KNOB(name, default_value, description) \
  {"FUSEBOX_" #name, default_value, description},
#include "runtime/config/knob_table.h"
};

absl::Status BadValue(std::string_view knob, std::string_view value, std::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat("FUSEBOX_", knob, "=", value, " is not accepted; use ", accepted));
}

// A word and what it stands for.
template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

constexpr Choice<bool> kSwitches[] = {{"0", false},   {"1", true},    {"false", false},
                                      {"true", true}, {"off", false}, {"on", true},
                                      {"no", false},  {"yes", true}};
constexpr Choice<CompileMode> kCompileModes[] = {{"background", CompileMode::kBackground},
                                                 {"block", CompileMode::kBlock},
                                                 {"never", CompileMode::kNever}};
constexpr Choice<LogLevel> kLogLevels[] = {{"trace", LogLevel::kTrace}, {"debug", LogLevel::kDebug},
                                           {"info", LogLevel::kInfo},   {"warn", LogLevel::kWarn},
                                           {"error", LogLevel::kError}, {"off", LogLevel::kOff}};

// Leaves `target` as it is where the knob is not set.
template <typename Value, size_t kCount>
absl::Status ReadChoice(const Environment& environment, std::string_view knob,
                        const Choice<Value> (&choices)[kCount], Value* target) {
  const std::string_view value = environment.Get(absl::StrCat("FUSEBOX_", knob));
  if (value.empty()) return absl::OkStatus();
  std::string accepted;
  for (size_t i = 0; i < kCount; ++i) {
    if (absl::EqualsIgnoreCase(choices[i].word, value)) {
      *target = choices[i].value;
      return absl::OkStatus();
    }
    absl::StrAppend(&accepted, i == 0 ? "" : (i + 1 == kCount ? " or " : ", "), choices[i].word);
  }
  return BadValue(knob, value, accepted);
}

absl::Status ReadEnabledOps(const Environment& environment, bool* ffn_enabled) {
  const std::string_view value = environment.Get("FUSEBOX_ENABLE");
  if (value.empty()) return absl::OkStatus();
  if (ReadChoice(environment, "ENABLE", kSwitches, ffn_enabled).ok()) return absl::OkStatus();
  *ffn_enabled = false;
  for (std::string_view op : absl::StrSplit(value, ',')) {
    op = absl::StripAsciiWhitespace(op);
    if (op != "ffn") return BadValue("ENABLE", value, "0, 1 or a comma list of ops (ffn)");
    *ffn_enabled = true;
  }
  return absl::OkStatus();
}

absl::Status ReadCompileThreads(const Environment& environment, int* threads) {
  const std::string_view value = environment.Get("FUSEBOX_COMPILE_THREADS");
  if (value.empty()) return absl::OkStatus();
  if (!absl::SimpleAtoi(value, threads) || *threads < 1 || *threads > kMaxCompileThreads) {
    return BadValue("COMPILE_THREADS", value,
                    absl::StrCat("a whole number from 1 to ", kMaxCompileThreads));
  }
  return absl::OkStatus();
}

absl::Status ReadShadowPeriod(const Environment& environment, int* period) {
  const std::string_view value = environment.Get("FUSEBOX_SHADOW");
  if (value.empty()) return absl::OkStatus();
  if (!absl::SimpleAtoi(value, period) || *period < 0 || *period > kMaxShadowPeriod) {
    return BadValue("SHADOW", value, absl::StrCat("a whole number from 0 to ", kMaxShadowPeriod));
  }
  return absl::OkStatus();
}

std::vector<std::string> CacheDirs(const Environment& environment) {
  const std::string_view list = environment.Get("FUSEBOX_CACHE_DIR");
  if (!list.empty()) return SplitColonList(list);
  const std::string_view xdg = environment.Get("XDG_CACHE_HOME");
  if (absl::StartsWith(xdg, "/")) return {absl::StrCat(xdg, "/fusebox")};  // XDG: relative is void
  const std::string_view home = environment.Get("HOME");
  if (!home.empty()) return {absl::StrCat(home, "/.cache/fusebox")};
  return {};
}

ToolkitPlaces PlacesOf(const Environment& environment) {
  ToolkitPlaces places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!environment.Get(name).empty()) places.cuda_homes.emplace_back(environment.Get(name));
  }
  places.cuda_homes.emplace_back("/usr/local/cuda");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (!environment.Get(name).empty()) places.python_prefixes.emplace_back(environment.Get(name));
  }
  if (!environment.Get("HOME").empty()) {
    places.python_prefixes.push_back(absl::StrCat(environment.Get("HOME"), "/.local"));
  }
  places.python_prefixes.emplace_back("/usr/local");
  places.python_prefixes.emplace_back("/usr");
  return places;
}

std::vector<std::string> UnknownNames(const Environment& environment) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment.variables()) {
    if (!absl::StartsWith(name, "FUSEBOX_")) continue;
    bool known = false;
    for (const Knob& knob : Knobs()) known = known || knob.name == name;
    if (!known) {
      warnings.push_back(absl::StrCat(name,
                                      " is no knob of this version and has no effect; "
                                      "README.md and `fusebox doctor` list the knobs"));
    }
  }
  return warnings;
}

}  // namespace

std::span<const Knob> Knobs() { return kKnobs; }

std::vector<std::string> SplitColonList(std::string_view list) {
  return absl::StrSplit(list, ':', absl::SkipEmpty());
}

absl::StatusOr<Config> ReadConfig(const Environment& environment) {
  Config config;
  FUSEBOX_RETURN_IF_ERROR(ReadEnabledOps(environment, &config.ffn_enabled));
  FUSEBOX_RETURN_IF_ERROR(
      ReadChoice(environment, "DECLINE_SLOWER", kSwitches, &config.decline_slower));
  FUSEBOX_RETURN_IF_ERROR(ReadChoice(environment, "COMPILE", kCompileModes, &config.compile_mode));
  FUSEBOX_RETURN_IF_ERROR(ReadCompileThreads(environment, &config.compile_threads));
  FUSEBOX_RETURN_IF_ERROR(ReadChoice(environment, "LOG_LEVEL", kLogLevels, &config.log_level));
  bool pdl = true;
  FUSEBOX_RETURN_IF_ERROR(ReadChoice(environment, "PDL", kSwitches, &pdl));
  config.pdl = pdl ? PdlMode::kOn : PdlMode::kOff;
  FUSEBOX_RETURN_IF_ERROR(ReadShadowPeriod(environment, &config.shadow_period));
  config.cache_dirs = CacheDirs(environment);
  config.nvrtc_path = environment.Get("FUSEBOX_NVRTC_PATH");
  config.device_profile = environment.Get("FUSEBOX_DEVICE_PROFILE");
  config.log_file = environment.Get("FUSEBOX_LOG_FILE");
  config.dump_dir = environment.Get("FUSEBOX_DUMP_DIR");
  config.record_file = environment.Get("FUSEBOX_RECORD");
  config.force_plan = environment.Get("FUSEBOX_FORCE_PLAN");
  config.template_dir = environment.Get("FUSEBOX_TEMPLATE_DIR");
  config.toolkit_places = PlacesOf(environment);
  config.warnings = UnknownNames(environment);
  return config;
}

std::string_view ToString(CompileMode mode) {
  for (const auto& choice : kCompileModes) {
    if (choice.value == mode) return choice.word;
  }
  return "unknown";
}

std::string_view ToString(LogLevel level) {
  for (const auto& choice : kLogLevels) {
    if (choice.value == level) return choice.word;
  }
  return "unknown";
}

}  // namespace fusebox
