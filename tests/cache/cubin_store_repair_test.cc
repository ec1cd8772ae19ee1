// What the store does with entries and roots that are damaged, unreadable or another build's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache/files.h"
#include "tests/cache/cubin_store_fixture.h"
#include "tests/compile/small_kernel.h"

namespace fusebox {
namespace {

using ::testing::HasSubstr;

TEST_F(CubinStoreTest, SetsABadEntryAsideAndTakesItsPlaceAnew) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  Overwrite(Entry(Root(), SmallKernel()) + "/kernel.cubin", "garbage");
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_EQ(CountNames(Root() + "/v1/sm_90a", ".bad-"), 1);
  EXPECT_THAT(lines_.back(), HasSubstr("event=bad_entry"));
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, MissesAnotherBuildsEntryAndReplacesItWhenItIsMadeAgain) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  const std::string entry = Entry(Root(), SmallKernel());
  Overwrite(entry + "/meta.json", R"({"schema": 1, "launch": {"resident_ctas_per_sm": 1}})");
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_EQ(store.num_bad_entries(), 0u);
  ASSERT_TRUE(fs::exists(entry)) << "another build may still want it";
  EXPECT_TRUE(IsStale(store.List().at(0).status));
  EXPECT_TRUE(IsStale(store.Verify().at(0).status));
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_EQ(CountNames(Root() + "/v1", ".tmp-"), 0);
}

TEST_F(CubinStoreTest, AnOlderNvrtcsKernelReplacesANewersForGood) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel(1)).ok());  // NVRTC 13
  CompiledKernel older = MadeUpKernel(2);
  older.nvrtc_major = 12;
  older.nvrtc_version = "12.9";
  ASSERT_FALSE(store.Find(SmallKernel(), 12).has_value());
  ASSERT_TRUE(store.Store(SmallKernel(), older).ok());
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel(1)).ok());  // a host of 13 that came late
  for (const int driver_major : {12, 13}) {
    const auto found = store.Find(SmallKernel(), driver_major);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->cubin, older.cubin);
  }
  EXPECT_EQ(CountNames(Root() + "/v1", ".tmp-"), 0);
  EXPECT_EQ(store.num_bad_entries(), 0u);
}

TEST_F(CubinStoreTest, ReplacesWhatCanNeverBeRead) {
  const std::string entry = Entry(Root(), SmallKernel());
  const std::vector<std::function<void()>> damages = {
      [&] { fs::remove(entry + "/kernel.cubin"), fs::create_directory(entry + "/kernel.cubin"); },
      [&] { fs::remove(entry + "/meta.json"), fs::create_directory(entry + "/meta.json"); },
      [&] {
        fs::remove(entry + "/kernel.cubin");
        fs::create_symlink("kernel.cubin", entry + "/kernel.cubin");
      },
      [&] { fs::resize_file(entry + "/kernel.cubin", uintmax_t{70} << 20); },
      [&] {
        fs::remove(entry + "/meta.json");
        ASSERT_EQ(mkfifo((entry + "/meta.json").c_str(), 0600), 0);
      },
      [&] { fs::remove_all(entry), std::ofstream(entry) << "a file"; },
      [&] { fs::remove_all(entry), fs::create_symlink("/nonexistent/entry", entry); },
      [&] { fs::remove_all(entry), fs::create_symlink(entry, entry); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    fs::remove_all(Root());
    CubinStore store = Store({Root()});
    ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
    damages[i]();
    EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value()) << i;
    EXPECT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok()) << i;
    EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value()) << i;
    EXPECT_EQ(store.num_bad_entries(), 1u) << i;
    EXPECT_EQ(CountNames(Root() + "/v1/sm_90a", ".bad-"), 1) << i;
  }
}

TEST_F(CubinStoreTest, ReplacesAnEntryItMayNotReadOrSaysWhyItCannot) {
  fs::permissions(base_, fs::perms::all);
  const bool is_root = geteuid() == 0;  // whom no permission stops
  if (is_root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  CubinStore store = Store({Root()});
  EXPECT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  const std::string entry = Entry(Root(), SmallKernel());
  fs::permissions(entry + "/kernel.cubin", fs::perms::none);
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value());

  fs::permissions(entry + "/kernel.cubin", fs::perms::none);
  fs::permissions(Root() + "/v1/sm_90a", fs::perms::owner_read | fs::perms::owner_exec);
  const absl::Status status = store.Store(SmallKernel(), MadeUpKernel());
  fs::permissions(Root() + "/v1/sm_90a", fs::perms::owner_all);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be moved away; remove it"));
  EXPECT_EQ(store.num_write_failures(), 1u);
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(CubinStoreTest, LeavesABadEntryThatNothingWillReplace) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  Overwrite(Entry(Root(), SmallKernel()) + "/kernel.cubin", "garbage");
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc, BadEntries::kLeave).has_value());
  EXPECT_EQ(store.num_bad_entries(), 1u);
  EXPECT_TRUE(fs::exists(Entry(Root(), SmallKernel())));
}

TEST_F(CubinStoreTest, KeepsTheNewestBadEntriesOnly) {
  CubinStore store = Store({Root()});
  for (size_t i = 0; i < CubinStore::kMaxBadEntries + 4; ++i) {
    ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
    Overwrite(Entry(Root(), SmallKernel()) + "/kernel.cubin", absl::StrCat(i));
    EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  }
  const std::string parent = Root() + "/v1/sm_90a";
  EXPECT_EQ(CountNames(parent, ".bad-"), static_cast<int>(CubinStore::kMaxBadEntries));
}

TEST_F(CubinStoreTest, RemovesWhatKilledWritersLeftAnHourAgo) {
  const std::string old = Root() + "/v1/.tmp-1-0123";
  const std::string fresh = Root() + "/v1/.tmp-1-4567";
  fs::create_directories(old);
  fs::create_directories(fresh);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(CubinStoreTest, SaysWhichRootCannotBeRead) {
  fs::create_directories(Root("here"));
  EXPECT_TRUE(Store({Root("here")}).CheckRoots().ok());
  const absl::Status status = Store({Root("here"), Root("gone")}).CheckRoots();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(Root("gone")));
}

TEST_F(CubinStoreTest, SaysOnceThatItsRootCannotBeWritten) {
  std::ofstream(Root()) << "a file where the root should be";
  CubinStore store = Store({Root()});
  EXPECT_FALSE(store.Store(SmallKernel(1), MadeUpKernel(1)).ok());
  EXPECT_FALSE(store.Store(SmallKernel(2), MadeUpKernel(2)).ok());
  EXPECT_EQ(store.num_write_failures(), 2u);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], HasSubstr("event=unwritable"));
  EXPECT_FALSE(store.Find(SmallKernel(1), kAnyNvrtc).has_value());
}

// A limit on a file's size fails a write halfway, as a full disk does.
TEST_F(CubinStoreTest, LeavesNothingBehindWhenAWriteFails) {
  CubinStore store = Store({Root()});
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // then write() fails with EFBIG instead
  rlimit small = before;
  small.rlim_cur = 1000;  // less than the cubin
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status stored = store.Store(SmallKernel(), MadeUpKernel());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(stored.ok());
  EXPECT_EQ(store.num_write_failures(), 1u);
  int num_files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Root())) {
    num_files += entry.is_regular_file();
  }
  EXPECT_EQ(num_files, 0);
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, RefusesToWriteWhatExists) {
  const std::string link = Root("link");
  fs::create_symlink("/dev/null", link);
  EXPECT_FALSE(WriteNewFile(link, "bytes").ok());  // O_EXCL
}

TEST_F(CubinStoreTest, VerifyTellsDamagedTextFromADamagedKernel) {
  CubinStore store = Store({Root()});
  for (const char* name : {"kernel.cu", "plan.json"}) {
    fs::remove_all(Root());
    ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
    Overwrite(Entry(Root(), SmallKernel()) + "/" + name, "changed");
    EXPECT_TRUE(store.Verify().at(0).status.ok()) << name;
    EXPECT_THAT(store.Verify().at(0).text_fault, HasSubstr(name));
    EXPECT_TRUE(store.Find(SmallKernel(), kAnyNvrtc).has_value()) << name;
  }
}

TEST_F(CubinStoreTest, VerifyFindsAChangeOfTheKernel) {
  CubinStore store = Store({Root()});
  for (const char* name : {"kernel.cubin", "meta.json"}) {
    fs::remove_all(Root());
    ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
    ASSERT_TRUE(store.Verify().at(0).status.ok());
    const std::string path = Entry(Root(), SmallKernel()) + "/" + name;
    Overwrite(path, *ReadFile(path) + " ");
    EXPECT_TRUE(absl::IsDataLoss(store.Verify().at(0).status)) << name;
  }
}

}  // namespace
}  // namespace fusebox
