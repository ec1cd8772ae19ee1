// Config is every setting of an engine after the environment was read: knobs, and where to look for
// caches and NVRTC. Invariant: a Config from ReadConfig is valid; API options are laid over it by
// the engine and beat it. A value; no threads.
#ifndef FUSEBOX_RUNTIME_CONFIG_CONFIG_H_
#define FUSEBOX_RUNTIME_CONFIG_CONFIG_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/config/environment.h"

namespace fusebox {

enum class CompileMode { kBackground = 1, kBlock = 2, kNever = 3 };
enum class LogLevel { kTrace = 1, kDebug = 2, kInfo = 3, kWarn = 4, kError = 5, kOff = 6 };
enum class PdlMode { kOff = 0, kOn = 1 };

constexpr int kMaxCompileThreads = 64;
constexpr int kMaxShadowPeriod = 1'000'000'000;

// One row of the knob table.
struct Knob {
  std::string_view name;           // "FUSEBOX_CACHE_DIR"
  std::string_view default_value;  // as README shows it
  std::string_view description;
};
std::span<const Knob> Knobs();

// Where NVRTC may be, from variables that are not ours.
struct ToolkitPlaces {
  std::vector<std::string> cuda_homes;  // CUDA_HOME, CUDA_PATH, then /usr/local/cuda
  std::vector<std::string>
      python_prefixes;  // VIRTUAL_ENV, CONDA_PREFIX, then ~/.local, /usr/local, /usr
};

struct Config {
  bool ffn_enabled = true;
  bool decline_slower = true;  // tiles that are predicted to be slower fused
  std::vector<std::string>
      cache_dirs;  // may be empty: neither a knob nor a home directory; then memory only
  CompileMode compile_mode = CompileMode::kBackground;
  int compile_threads = 2;
  std::string nvrtc_path;      // empty: search
  std::string device_profile;  // empty: by the GPU's name
  LogLevel log_level = LogLevel::kWarn;
  std::string log_file;  // empty: stderr
  PdlMode pdl = PdlMode::kOn;
  int shadow_period = 0;     // launches of a binding from one comparison to the next; 0: none
  std::string dump_dir;      // empty: no dumps
  std::string record_file;   // empty: nothing is recorded
  std::string force_plan;    // plans, or "@" and the file that holds them; empty: none
  std::string template_dir;  // empty: the embedded templates
  ToolkitPlaces toolkit_places;
  std::vector<std::string> warnings;  // sentences about FUSEBOX_ names that are no knobs
};

// InvalidArgument with a sentence that names the knob, its value and the accepted values.
absl::StatusOr<Config> ReadConfig(const Environment& environment);

// "a:b" -> {a, b}; empty pieces are dropped.
std::vector<std::string> SplitColonList(std::string_view list);

std::string_view ToString(CompileMode mode);
std::string_view ToString(LogLevel level);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CONFIG_CONFIG_H_
