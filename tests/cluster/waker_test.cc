// Which workers are woken, and only while a request waits.
#include "shoal/cluster/coordinator/runtime/waker.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

// Counts calls by worker, and lets a test wait for them.
class Calls {
 public:
  void add(int worker) {
    const std::lock_guard lock(mutex_);
    ++count_[worker];
    changed_.notify_all();
  }
  // Longer than any machine needs that works at all.
  void wait_for(int worker, int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 1min, [&] { return count_[worker] >= count; }))
        << "worker " << worker << " was called " << count_[worker] << " times, not " << count;
  }
  int of(int worker) {
    const std::lock_guard lock(mutex_);
    return count_[worker];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, int> count_;
};

TEST(Waker, WakesThoseItWatchesOverAgainAndAgain) {
  Calls calls;
  Waker waker([&](int worker) { calls.add(worker); });
  waker.watch_over({0, 2}, 1ms);
  waker.begin();
  calls.wait_for(2, 3);
  waker.end();
  EXPECT_GE(calls.of(0), 3);
  EXPECT_EQ(calls.of(1), 0);
}

TEST(Waker, WakesNeitherAllTheTimeNorNever) {
  EXPECT_EQ(wake_interval(0.1), 50ms);
  for (double soon : {0.0, 1e-9, 0.001, 0.0019}) EXPECT_EQ(wake_interval(soon), 1ms) << soon;
  EXPECT_EQ(wake_interval(std::numeric_limits<double>::quiet_NaN()), 1ms);
  for (double late : {1e9, 1e18, 1e300}) EXPECT_EQ(wake_interval(late), 1h) << late;
}

TEST(Waker, BeginsWithWhomItIsToldLater) {
  Calls calls;
  Waker waker([&](int worker) { calls.add(worker); });
  waker.begin();
  waker.watch_over({1}, 1h);
  calls.wait_for(1, 1);
  waker.end();
}

}  // namespace
}  // namespace shoal::cluster
