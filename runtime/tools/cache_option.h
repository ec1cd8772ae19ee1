// The option --cache-dir: which caches a command works with, instead of FUSEBOX_CACHE_DIR.
// Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_CACHE_OPTION_H_
#define FUSEBOX_RUNTIME_TOOLS_CACHE_OPTION_H_

#include <string>
#include <string_view>

#include "runtime/config/config.h"

namespace CLI {
class App;
}

namespace fusebox {

// `what` begins the help: "cache to fill". `cache_dir` must outlive the parse.
void AddCacheDirOption(CLI::App& command, std::string_view what, std::string& cache_dir);

// Left out (empty), the environment's stay.
void ApplyCacheDir(const std::string& cache_dir, Config& config);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_CACHE_OPTION_H_
