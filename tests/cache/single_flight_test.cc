#include "runtime/cache/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/time/clock.h"

namespace fusebox {
namespace {

using Table = SingleFlightTable<int>;

constexpr Fingerprint kKey{.high = 1, .low = 2};

TEST(SingleFlightTest, MakesOnceForSixteenThreads) {
  constexpr int kThreads = 16;
  Table table;
  std::atomic<int> num_made = 0;
  std::atomic<int> num_makers = 0;
  std::vector<std::thread> threads;
  absl::Barrier* const barrier = new absl::Barrier(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      if (barrier->Block()) delete barrier;
      FlightRole role;
      const auto made = table.GetOrMake(
          kKey,
          [&]() -> Table::Made {
            ++num_made;
            absl::SleepFor(absl::Milliseconds(50));
            return std::make_shared<const int>(7);
          },
          &role);
      ASSERT_TRUE(made.ok());
      EXPECT_EQ(**made, 7);
      if (role == FlightRole::kMade) ++num_makers;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_made, 1);
  EXPECT_EQ(num_makers, 1);
}

TEST(SingleFlightTest, DoesNotHoldItsLockWhileMaking) {
  Table table;
  const auto made = table.GetOrMake(kKey, [&]() -> Table::Made {
    // Another key, asked for from inside: would deadlock if the table were locked.
    return table.GetOrMake({.high = 3, .low = 4},
                           []() -> Table::Made { return std::make_shared<const int>(5); });
  });
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(**made, 5);
}

TEST(SingleFlightTest, TriesAgainAfterAFailure) {
  Table table;
  const auto failed =
      table.GetOrMake(kKey, []() -> Table::Made { return absl::InternalError("no"); });
  EXPECT_EQ(failed.status().message(), "no");
  const auto made =
      table.GetOrMake(kKey, []() -> Table::Made { return std::make_shared<const int>(1); });
  EXPECT_TRUE(made.ok());
}

TEST(SingleFlightTest, FreesThoseWhoWaitWhenTheMakerThrows) {
  Table table;
  std::thread waiter;
  EXPECT_THROW((void)table.GetOrMake(kKey,
                                     [&]() -> Table::Made {
                                       waiter = std::thread([&] {
                                         (void)table.GetOrMake(kKey, []() -> Table::Made {
                                           return std::make_shared<const int>(1);
                                         });
                                       });
                                       absl::SleepFor(absl::Milliseconds(20));
                                       throw std::bad_alloc();
                                     }),
               std::bad_alloc);
  waiter.join();
}

TEST(SingleFlightTest, MakesAnewWhatWasForgotten) {
  Table table;
  int count = 0;
  const auto make = [&]() -> Table::Made { return std::make_shared<const int>(++count); };
  EXPECT_EQ(**table.GetOrMake(kKey, make), 1);
  EXPECT_EQ(**table.GetOrMake(kKey, make), 1);
  table.Forget(kKey);
  EXPECT_EQ(**table.GetOrMake(kKey, make), 2);
}

}  // namespace
}  // namespace fusebox
