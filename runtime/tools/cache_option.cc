#include "runtime/tools/cache_option.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

namespace fusebox {

void AddCacheDirOption(CLI::App& command, std::string_view what, std::string& cache_dir) {
  command
      .add_option("--cache-dir", cache_dir,
                  absl::StrCat(what, ", instead of FUSEBOX_CACHE_DIR; a colon list like it"))
      ->type_name("DIR");
}

void ApplyCacheDir(const std::string& cache_dir, Config& config) {
  if (!cache_dir.empty()) config.cache_dirs = SplitColonList(cache_dir);
}

}  // namespace fusebox
