#include "runtime/compile/nvrtc_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace fusebox {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NvrtcApiTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }

  std::string MakeFile(const std::string& path) {
    const fs::path full = fs::path(root_) / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << "not a library";
    return full.string();
  }

  const std::string root_ = testing::TempDir() + "/nvrtc_api_test";
};

TEST_F(NvrtcApiTest, LooksInLoaderThenToolkitsThenWheels) {
  const std::string toolkit = MakeFile("cuda/lib64/libnvrtc.so.12");
  const std::string new_wheel =
      MakeFile("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string old_wheel =
      MakeFile("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string system_wheel =
      MakeFile("usr/lib/python3/dist-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const ToolkitPlaces places{.cuda_homes = {root_ + "/cuda"},
                             .python_prefixes = {root_ + "/venv", root_ + "/usr"}};
  EXPECT_THAT(NvrtcCandidates(places, ""),
              ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", toolkit, new_wheel,
                          old_wheel, system_wheel));
}

TEST_F(NvrtcApiTest, TakesAnExplicitFileOrFolderAndNothingElse) {
  const std::string file = MakeFile("own/libnvrtc.so.12");
  const ToolkitPlaces places{.cuda_homes = {root_ + "/own"}};
  EXPECT_THAT(NvrtcCandidates(places, file), ElementsAre(file));
  EXPECT_THAT(NvrtcCandidates(places, root_ + "/own"), ElementsAre(file));
  EXPECT_THAT(NvrtcCandidates(places, root_), ElementsAre());
}

TEST_F(NvrtcApiTest, SaysWhatWasTriedWhenThePathIsWrong) {
  const std::string file = MakeFile("own/libnvrtc.so.13");
  const auto api = LoadNvrtc({}, file);
  ASSERT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("FUSEBOX_NVRTC_PATH=" + file));
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("cannot be opened"));
}

TEST_F(NvrtcApiTest, SaysThatAFolderHoldsNone) {
  fs::create_directories(root_);
  const auto api = LoadNvrtc({}, root_);
  ASSERT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("the folder holds no libnvrtc.so"));
}

TEST_F(NvrtcApiTest, RefusesALibraryThatIsNoNvrtc) {
  const auto api = LoadNvrtc({}, "libm.so.6");
  ASSERT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()), HasSubstr("has no nvrtcVersion"));
}

TEST(LoadNvrtcTest, RefusesAPipeWithoutWaitingForItsWriter) {
  const std::string path = testing::TempDir() + "/nvrtc_api_test.pipe";
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto api = LoadNvrtc({}, path);
  std::remove(path.c_str());
  ASSERT_TRUE(absl::IsFailedPrecondition(api.status()));
  EXPECT_THAT(std::string(api.status().message()), ::testing::HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace fusebox
