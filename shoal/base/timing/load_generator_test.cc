#include "shoal/base/timing/load_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <set>

namespace shoal {
namespace {

TEST(LoadGenerator, SendsEveryRequestOnce) {
  std::mutex mutex;
  std::multiset<size_t> seen;
  LoadGenerator load(3, [&](size_t request) {
    const std::lock_guard lock(mutex);
    seen.insert(request);
    return Status();
  });
  const auto period = load.period(50);
  ASSERT_TRUE(period.ok());
  EXPECT_GE(*period, 0);
  ASSERT_EQ(seen.size(), 50u);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(seen.count(i), 1u);
}

// Each round ends only when all three clients are in it.
TEST(LoadGenerator, KeepsSoManyInFlight) {
  std::barrier round(3);
  LoadGenerator load(3, [&](size_t) {
    round.arrive_and_wait();
    return Status();
  });
  EXPECT_TRUE(load.period(12).ok());
}

TEST(LoadGenerator, SendsFourPerClientAtLeast) {
  std::atomic<size_t> sent = 0;
  LoadGenerator load(5, [&](size_t) {
    ++sent;
    return Status();
  });
  EXPECT_TRUE(load.period(1, 20).ok()) << "more turns than can be counted";
  EXPECT_EQ(sent, 20u);
}

TEST(LoadGenerator, StopsAtTheFirstFailureAndCanBeginAgain) {
  std::atomic<size_t> sent = 0;
  std::atomic<bool> fails = true;
  LoadGenerator load(1, [&](size_t request) {
    ++sent;
    return fails && request == 3 ? Status(Code::kUnavailable, "gone") : Status();
  });
  EXPECT_EQ(load.period(100).status().code(), Code::kUnavailable);
  EXPECT_EQ(sent, 4u);
  fails = false;
  EXPECT_TRUE(load.period(100).ok());
}

}  // namespace
}  // namespace shoal
