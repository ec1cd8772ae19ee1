// FUSEBOX_RECORD: what an engine writes into a manifest, and what it does with a file that is none.
#include "runtime/engine/manifest_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/cache/files.h"
#include "tests/engine/engine_fixture.h"

namespace fusebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ManifestRecorderTest : public EngineFixture {
 protected:
  void SetUp() override { std::filesystem::create_directories(cache_root_); }

  EnginePointer MakeRecordingEngine(const std::function<void(EngineSettings&)>& change = nullptr) {
    return MakeEngine([&](EngineSettings& s) {
      s.config.record_file = file_;
      if (change != nullptr) change(s);
    });
  }

  std::vector<int> RecordedTiles() const {
    std::vector<int> tiles;
    const auto entries = ParseManifest(ReadFile(file_).value());
    EXPECT_TRUE(entries.ok()) << entries.status();
    for (const ManifestEntry& entry : *entries) {
      EXPECT_EQ(entry.profile, "h200-sxm");
      tiles.push_back(entry.op.token_tile);
    }
    return tiles;
  }

  int64_t NumLines() const {
    const std::string text = ReadFile(file_).value();
    return std::count(text.begin(), text.end(), '\n');
  }

  int64_t NumComplaints() {
    const std::vector<std::string> lines = LogLines();
    return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("stage=record") != std::string::npos;
    });
  }

  const std::string file_ = cache_root_ + "/manifest.jsonl";
};

TEST_F(ManifestRecorderTest, WhatIsPreparedIsRecordedOnceAlsoWhenItIsReady) {
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  WarmCache(op_);
  EXPECT_THAT(RecordedTiles(), IsEmpty()) << "nothing was asked for yet";
  ASSERT_EQ(Prepare(op_, {1, 8, 17}), FUSEBOX_OK);
  ASSERT_EQ(Prepare(op_, {8, 32}), FUSEBOX_OK);
  EXPECT_THAT(RecordedTiles(), ElementsAre(8, 32));
  EXPECT_EQ(NumLines(), 2);
  const auto entries = ParseManifest(ReadFile(file_).value()).value();
  EXPECT_EQ(entries[0].op.problem, op_->ffn->spec().problem);
}

TEST_F(ManifestRecorderTest, WhatIsInNoCacheIsRecordedToo) {
  engine_ = MakeRecordingEngine();  // never compiles
  op_ = MakeOp(engine_);
  EXPECT_EQ(Prepare(op_, {8, 16}), FUSEBOX_NOT_READY);
  EXPECT_THAT(RecordedTiles(), ElementsAre(8, 16));
}

TEST_F(ManifestRecorderTest, WhatALaunchFindsMissingIsRecordedInTheBackground) {
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  ASSERT_EQ(fusebox_engine_freeze(engine_.get()), FUSEBOX_OK);  // launches go on after it
  const fusebox_ffn_args args = Args(op_, 12);
  ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  for (int i = 0; i < 100 && NumLines() == 0; ++i) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(RecordedTiles(), ElementsAre(16));
  EXPECT_EQ(Stats(engine_).cache_misses, 0u) << "recording must not make the engine look";
}

TEST_F(ManifestRecorderTest, WhatTheLastLaunchFoundMissingIsRecordedAtTheEnd) {
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 32);
  ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  engine_.reset();
  EXPECT_THAT(RecordedTiles(), ElementsAre(32));
}

TEST_F(ManifestRecorderTest, WhatAnOpsLastLaunchFoundMissingOutlivesTheOp) {
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  binding_ = Bind(op_);
  const fusebox_ffn_args args = Args(op_, 32);
  ASSERT_EQ(fusebox_ffn_launch(binding_.get(), &args, nullptr), FUSEBOX_NOT_READY);
  binding_.reset();
  op_.reset();
  EXPECT_THAT(RecordedTiles(), ElementsAre(32));
}

TEST_F(ManifestRecorderTest, DeclinedTilesAreNotRecorded) {
  engine_ = MakeRecordingEngine();
  fusebox_ffn_desc desc = Desc();
  desc.max_tokens = 8;
  op_ = MakeOp(engine_, desc);
  EXPECT_EQ(Prepare(op_, {16}), FUSEBOX_DECLINED);
  EXPECT_THAT(RecordedTiles(), IsEmpty());
}

TEST_F(ManifestRecorderTest, EnginesThatShareAFileAddWhatIsNotThere) {
  const EnginePointer engines[] = {MakeRecordingEngine(), MakeRecordingEngine()};
  const OpPointer ops[] = {MakeOp(engines[0]), MakeOp(engines[1])};
  (void)Prepare(ops[0], {8, 16});
  (void)Prepare(ops[1], {16, 32});
  EXPECT_THAT(RecordedTiles(), ElementsAre(8, 16, 32));
  EXPECT_EQ(NumLines(), 3);
}

TEST_F(ManifestRecorderTest, LinesOfManyThreadsDoNotMix) {
  const auto silent = EventLog::Silent();
  constexpr int kThreads = 8, kOps = 25;
  ManifestRecorder recorders[] = {{file_, "h200-sxm", silent.get()},
                                  {file_, "h200-sxm", silent.get()}};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kOps; ++i) {
        recorders[t % 2].Record({.hidden = DimK(8 + 8 * i), .intermediate = DimN(64)}, 8);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto entries = ParseManifest(ReadFile(file_).value());
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(entries->size(), static_cast<size_t>(kOps));
}

TEST_F(ManifestRecorderTest, AFileThatCannotBeWrittenIsSaidOnceAndFailsNothing) {
  engine_ = MakeEngine([](EngineSettings& s) { s.config.record_file = "/nonexistent/manifest"; });
  op_ = MakeOp(engine_);
  WarmCache(op_);
  ASSERT_EQ(Prepare(op_, {8, 16}), FUSEBOX_OK);
  EXPECT_TRUE(IsReady(op_, 8));
  EXPECT_EQ(NumComplaints(), 1);
}

TEST_F(ManifestRecorderTest, AFileThatIsNoManifestIsLeftAsItIs) {
  const std::string notes = "notes of somebody\n";
  std::ofstream(file_) << notes;
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  (void)Prepare(op_, {8, 16});
  EXPECT_EQ(ReadFile(file_).value(), notes);
  EXPECT_EQ(NumComplaints(), 1);
  EXPECT_THAT(LogLines(),
              testing::Contains(HasSubstr("the file is no manifest: it does not begin with {")));
}

TEST_F(ManifestRecorderTest, ALineThatAKilledWriterLeftStaysApart) {
  const std::string cut = "{\"manifest\":1,\"prof";
  std::ofstream(file_) << cut;
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  (void)Prepare(op_, {8});
  (void)Prepare(op_, {16});
  const std::string text = ReadFile(file_).value();
  ASSERT_EQ(text.substr(0, cut.size() + 1), cut + "\n");
  EXPECT_EQ(ParseManifest(text.substr(cut.size() + 1)).value().size(), 2u);
  EXPECT_EQ(NumComplaints(), 0);
}

TEST_F(ManifestRecorderTest, AFileThatSomebodyRemovedIsMadeAgain) {
  engine_ = MakeRecordingEngine();
  op_ = MakeOp(engine_);
  (void)Prepare(op_, {8});
  std::filesystem::remove(file_);
  (void)Prepare(op_, {16});
  EXPECT_THAT(RecordedTiles(), ElementsAre(16)) << "what is new since";
}

TEST_F(ManifestRecorderTest, WithoutTheKnobNothingIsWritten) {
  engine_ = MakeEngine();
  op_ = MakeOp(engine_);
  (void)Prepare(op_, {8});
  EXPECT_FALSE(engine_->engine->recorder().enabled());
  EXPECT_THAT(ListFolder(cache_root_), IsEmpty());
}

}  // namespace
}  // namespace fusebox
