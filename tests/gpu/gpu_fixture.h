// GpuTest is the fixture of tests that run kernels: one session a process, with a kernel cache in a
// folder of its own that goes with it. Skips only where there is no Hopper GPU.
#ifndef FUSEBOX_TESTS_GPU_GPU_FIXTURE_H_
#define FUSEBOX_TESTS_GPU_GPU_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "fusebox/fusebox.hpp"
#include "runtime/tools/gpu_session.h"
#include "src/base/status.h"

namespace fusebox {

// Each stops the test, with the sentence, where a Status is not OK.
#define ASSERT_STATUS_OK(...)                           \
  do {                                                  \
    const absl::Status assert_status_ = (__VA_ARGS__);  \
    ASSERT_TRUE(assert_status_.ok()) << assert_status_; \
  } while (false)
#define ASSERT_OK_AND_ASSIGN(target, ...) \
  ASSERT_OK_AND_ASSIGN_NAMED(FUSEBOX_CONCAT(assert_statusor_, __LINE__), target, __VA_ARGS__)
#define ASSERT_OK_AND_ASSIGN_NAMED(name, target, ...) \
  auto name = (__VA_ARGS__);                          \
  ASSERT_TRUE(name.ok()) << name.status();            \
  target = *std::move(name)
#define ASSERT_API_OK(...)                                                              \
  do {                                                                                  \
    const fusebox_status assert_code_ = api::Status(__VA_ARGS__).code();                \
    ASSERT_EQ(assert_code_, FUSEBOX_OK)                                                 \
        << fusebox_status_string(assert_code_) << ": " << fusebox_last_error_message(); \
  } while (false)

class GpuTest : public testing::Test {
 protected:
  void SetUp() override;

  GpuSession& gpu() const { return *session_; }
  const std::string& cache_dir() const;
  // A folder below the session's, empty at first.
  std::string MakeFolder(const std::string& name) const;
  // Options of an engine that compiles into cache_dir when asked to prepare.
  fusebox_engine_options EngineOptions() const;

 private:
  GpuSession* session_ = nullptr;
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_GPU_GPU_FIXTURE_H_
