#include "tests/gpu/gpu_fixture.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "src/base/status.h"
#include "tests/gpu/find_hopper.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

// Lives until the process ends: a context is dear, and tests share kernels.
class ProcessSession : public testing::Environment {
 public:
  void SetUp() override {
    absence_ = FindHopper();
    if (!absence_.ok()) return;
    cache_dir_ =
        (fs::temp_directory_path() / ("fusebox-gpu-test-" + std::to_string(getpid()))).string();
    Config config = ReadConfig(fusebox::Environment::OfProcess()).value();
    config.cache_dirs = {cache_dir_};
    config.compile_mode = CompileMode::kBlock;
    config.decline_slower = false;
    auto session = GpuSession::Open(config);
    failure_ = session.status();
    if (session.ok()) session_ = *std::move(session);
  }
  void TearDown() override {
    session_.reset();
    std::error_code ignored;
    if (!cache_dir_.empty()) fs::remove_all(cache_dir_, ignored);
  }

  absl::Status absence_;
  absl::Status failure_;
  std::unique_ptr<GpuSession> session_;
  std::string cache_dir_;
};

ProcessSession* const process_session =
    static_cast<ProcessSession*>(testing::AddGlobalTestEnvironment(new ProcessSession));

}  // namespace

void GpuTest::SetUp() {
  if (!process_session->absence_.ok()) GTEST_SKIP() << process_session->absence_.message();
  ASSERT_TRUE(process_session->failure_.ok()) << process_session->failure_;
  session_ = process_session->session_.get();
}

const std::string& GpuTest::cache_dir() const { return process_session->cache_dir_; }

std::string GpuTest::MakeFolder(const std::string& name) const {
  const fs::path folder = fs::path(cache_dir()) / name;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::create_directories(folder, ignored);
  return folder.string();
}

fusebox_engine_options GpuTest::EngineOptions() const {
  fusebox_engine_options options = api::EngineOptions();
  options.decline_slower = FUSEBOX_SWITCH_OFF;  // kernels are judged, not whether they pay
  options.cache_dirs = cache_dir().c_str();
  options.compile_mode = FUSEBOX_COMPILE_BLOCK;
  return options;
}

}  // namespace fusebox
