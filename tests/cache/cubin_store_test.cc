#include "runtime/cache/cubin_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
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

TEST_F(CubinStoreTest, GivesBackWhatWasStored) {
  CubinStore store = Store({Root()});
  const CompiledKernel kernel = MadeUpKernel();
  ASSERT_TRUE(store.Store(SmallKernel(), kernel).ok());
  const auto found = Store({Root()}).Find(SmallKernel(), kAnyNvrtc);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cubin, kernel.cubin);
  EXPECT_EQ(found->resources, kernel.resources);
  EXPECT_EQ(found->nvrtc_version, "13.0");
}

TEST_F(CubinStoreTest, MissesWhatIsNotThereAndCreatesNothingByLooking) {
  EXPECT_FALSE(Store({Root()}).Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_FALSE(fs::exists(Root()));
}

TEST_F(CubinStoreTest, LaysAnEntryOutAsDesigned) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_THAT(ListFolder(Entry(Root(), SmallKernel())),
              testing::ElementsAre("kernel.cu", "kernel.cubin", "meta.json", "plan.json"));
  EXPECT_EQ(CountNames(Root() + "/v1", ".tmp-"), 0);
}

TEST_F(CubinStoreTest, WritesNothingOfTheMachineIntoAnEntry) {
  ASSERT_TRUE(Store({Root("a")}).Store(SmallKernel(), MadeUpKernel()).ok());
  ASSERT_TRUE(Store({Root("b")}).Store(SmallKernel(), MadeUpKernel()).ok());
  for (const char* name : {"kernel.cu", "kernel.cubin", "meta.json", "plan.json"}) {
    const auto a = ReadFile(Entry(Root("a"), SmallKernel()) + "/" + name);
    const auto b = ReadFile(Entry(Root("b"), SmallKernel()) + "/" + name);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(*a, *b) << name;
    EXPECT_THAT(*a, testing::Not(HasSubstr(base_))) << name;
  }
}

TEST_F(CubinStoreTest, NeverLoadsAnEntryWithAFlippedBit) {
  CubinStore writer = Store({Root()});
  ASSERT_TRUE(writer.Store(SmallKernel(), MadeUpKernel()).ok());
  const std::string entry = Entry(Root(), SmallKernel());
  const std::string kept = Root("kept");
  fs::copy(entry, kept, fs::copy_options::recursive);
  for (const char* name : {"kernel.cubin", "meta.json"}) {
    const std::string bytes = *ReadFile(kept + "/" + name);
    for (size_t i = 0; i < bytes.size(); i += 97) {  // every bit: entry_format_test
      fs::remove_all(entry);
      fs::copy(kept, entry, fs::copy_options::recursive);
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      Overwrite(entry + "/" + name, changed);
      ASSERT_FALSE(Store({Root()}).Find(SmallKernel(), kAnyNvrtc).has_value())
          << name << " byte " << i << " of " << bytes.size();
      ASSERT_FALSE(fs::exists(entry)) << "the bad entry was left where it is found again";
    }
  }
}

TEST_F(CubinStoreTest, NeverLoadsATruncatedOrGrownOrEmptyFile) {
  CubinStore writer = Store({Root()});
  const std::string entry = Entry(Root(), SmallKernel());
  for (const char* name : {"kernel.cubin", "meta.json"}) {
    for (const int change : {-1, -100, -1000000, 1}) {
      fs::remove_all(entry);
      ASSERT_TRUE(writer.Store(SmallKernel(), MadeUpKernel()).ok());
      std::string bytes = *ReadFile(entry + "/" + name);
      const int64_t size = std::max<int64_t>(0, static_cast<int64_t>(bytes.size()) + change);
      bytes.resize(static_cast<size_t>(size), ' ');
      Overwrite(entry + "/" + name, bytes);
      EXPECT_FALSE(Store({Root()}).Find(SmallKernel(), kAnyNvrtc).has_value()) << name << change;
    }
  }
}

TEST_F(CubinStoreTest, NeverLoadsAnEntryThatLacksAFile) {
  CubinStore writer = Store({Root()});
  const std::string entry = Entry(Root(), SmallKernel());
  for (const char* name : {"kernel.cubin", "meta.json"}) {
    fs::remove_all(entry);
    ASSERT_TRUE(writer.Store(SmallKernel(), MadeUpKernel()).ok());
    fs::remove(entry + "/" + name);
    CubinStore store = Store({Root()});
    EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value()) << name;
    EXPECT_EQ(store.num_bad_entries(), 1u);
  }
}

TEST_F(CubinStoreTest, NeverLoadsAnotherKernelsEntry) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(1), MadeUpKernel(1)).ok());
  fs::rename(Entry(Root(), SmallKernel(1)), Entry(Root(), SmallKernel(2)));
  EXPECT_FALSE(store.Find(SmallKernel(2), kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, NeverLoadsAnEntryWithAnotherLaunchShape) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  KernelSource other = SmallKernel();
  other.launch.dynamic_smem_bytes += 1024;  // not in the digest
  EXPECT_FALSE(store.Find(other, kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, SearchesAllRootsAndWritesTheFirstOnly) {
  ASSERT_TRUE(Store({Root("old")}).Store(SmallKernel(1), MadeUpKernel(1)).ok());
  CubinStore store = Store({Root("new"), Root("old")});
  EXPECT_TRUE(store.Find(SmallKernel(1), kAnyNvrtc).has_value());
  ASSERT_TRUE(store.Store(SmallKernel(2), MadeUpKernel(2)).ok());
  EXPECT_TRUE(fs::exists(Entry(Root("new"), SmallKernel(2))));
  EXPECT_FALSE(fs::exists(Entry(Root("old"), SmallKernel(2))));
}

TEST_F(CubinStoreTest, PassesABadFirstRootByForAGoodSecond) {
  ASSERT_TRUE(Store({Root("a")}).Store(SmallKernel(), MadeUpKernel()).ok());
  ASSERT_TRUE(Store({Root("b")}).Store(SmallKernel(), MadeUpKernel()).ok());
  Overwrite(Entry(Root("a"), SmallKernel()) + "/meta.json", "{}");
  EXPECT_TRUE(Store({Root("a"), Root("b")}).Find(SmallKernel(), kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, ServesACacheThatWasMoved) {
  ASSERT_TRUE(Store({Root("here")}).Store(SmallKernel(), MadeUpKernel()).ok());
  fs::rename(Root("here"), Root("there"));
  EXPECT_TRUE(Store({Root("there")}).Find(SmallKernel(), kAnyNvrtc).has_value());
}

TEST_F(CubinStoreTest, MissesWhatTheDriverCouldNotLoadButKeepsIt) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());  // NVRTC 13
  EXPECT_FALSE(store.Find(SmallKernel(), 12).has_value());
  EXPECT_TRUE(store.Find(SmallKernel(), 13).has_value());
}

TEST_F(CubinStoreTest, KeepsTheFirstEntryWhenTwoStore) {
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel(1)).ok());
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel(2)).ok());
  EXPECT_EQ(store.Find(SmallKernel(), kAnyNvrtc)->cubin, MadeUpKernel(1).cubin);
  EXPECT_EQ(CountNames(Root() + "/v1", ".tmp-"), 0);
}

TEST_F(CubinStoreTest, HoldsUnderSixteenProcessesThatStoreAndFindAtOnce) {
  constexpr int kProcesses = 16;
  constexpr int kKernels = 12;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto silent = EventLog::Silent();
      CubinStore store({Root()}, silent.get());
      int failures = 0;
      for (int k = 0; k < kKernels; ++k) {
        failures += !store.Store(SmallKernel(k), MadeUpKernel(k)).ok();
        const auto found = store.Find(SmallKernel(k), kAnyNvrtc);
        failures += !found.has_value() || found->cubin != MadeUpKernel(k).cubin;
      }
      _exit(failures);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    EXPECT_TRUE(WIFEXITED(state));
    EXPECT_EQ(WEXITSTATUS(state), 0);
  }
  EXPECT_EQ(CountNames(Root() + "/v1", ".tmp-"), 0);
  EXPECT_EQ(CountNames(Root() + "/v1/sm_90a", ".bad-"), 0);
  EXPECT_EQ(Store({Root()}).Verify().size(), static_cast<size_t>(kKernels));
}

TEST_F(CubinStoreTest, IsNotDisturbedByAWriterThatWasKilled) {
  fs::create_directories(Root() + "/v1/.tmp-1-0123");
  std::ofstream(Root() + "/v1/.tmp-1-0123/kernel.cubin") << "half";
  CubinStore store = Store({Root()});
  ASSERT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_EQ(store.List().size(), 1u);
}

TEST_F(CubinStoreTest, ListsWhatItHolds) {
  CubinStore store = Store({Root("a"), Root("b")});
  ASSERT_TRUE(store.Store(SmallKernel(1), MadeUpKernel(1)).ok());
  ASSERT_TRUE(Store({Root("b")}).Store(SmallKernel(2), MadeUpKernel(2)).ok());
  const std::vector<CacheEntryReport> entries = store.List();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].root, Root("a"));
  EXPECT_EQ(entries[0].meta.name, "small_1");
  EXPECT_EQ(entries[1].meta.launch, SmallKernel().launch);
  EXPECT_GT(entries[1].bytes, 3000);
}

TEST_F(CubinStoreTest, WorksWithoutAnyRoot) {
  CubinStore store = Store({});
  EXPECT_TRUE(store.Store(SmallKernel(), MadeUpKernel()).ok());
  EXPECT_FALSE(store.Find(SmallKernel(), kAnyNvrtc).has_value());
  EXPECT_TRUE(store.List().empty());
}

}  // namespace
}  // namespace fusebox
