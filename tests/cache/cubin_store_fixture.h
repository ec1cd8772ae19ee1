// A store over roots that are removed again, with the log lines it wrote.
#ifndef FUSEBOX_TESTS_CACHE_CUBIN_STORE_FIXTURE_H_
#define FUSEBOX_TESTS_CACHE_CUBIN_STORE_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache/cubin_store.h"
#include "runtime/cache/files.h"
#include "tests/compile/small_kernel.h"

namespace fusebox {

namespace fs = std::filesystem;

inline constexpr int kAnyNvrtc = 1000;

inline void Collect(void* user, int32_t, const char* line) {
  static_cast<std::vector<std::string>*>(user)->push_back(line);
}

class CubinStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(base_);
    fs::create_directories(base_);
    log_ = *EventLog::Create({.level = LogLevel::kDebug, .callback = Collect, .user = &lines_});
  }
  void TearDown() override {
    std::error_code error;
    fs::permissions(base_, fs::perms::owner_all, error);
    fs::remove_all(base_, error);
  }

  CubinStore Store(std::vector<std::string> roots) {
    return CubinStore(std::move(roots), log_.get());
  }
  std::string Root(const std::string& name = "root") const { return base_ + "/" + name; }
  std::string Entry(const std::string& root, const KernelSource& source) const {
    return absl::StrCat(root, "/v1/sm_90a/", source.Digest().ToHex());
  }
  int CountNames(const std::string& folder, const std::string& prefix) const {
    int count = 0;
    for (const std::string& name : ListFolder(folder)) count += absl::StartsWith(name, prefix);
    return count;
  }

  const std::string base_ = absl::StrCat(testing::TempDir(), "/cubin_store_test-", getpid());
  std::vector<std::string> lines_;
  std::unique_ptr<EventLog> log_;
};

inline void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_CACHE_CUBIN_STORE_FIXTURE_H_
