#include "shoal/base/leader_followers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace shoal {
namespace {

// Threads that handle what step() says, until the test ends.
class LeaderFollowersTest : public ::testing::Test {
 protected:
  void start(size_t threads, const std::function<void()>& lead) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, lead] { pool_.run(lead, [this] { ++finished_; }); });
    }
  }
  void TearDown() override {
    pool_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  LeaderFollowers pool_{std::chrono::milliseconds(1)};
  std::atomic<int> finished_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(LeaderFollowersTest, LetsOneThreadLeadAtATime) {
  constexpr int kEvents = 2000;
  std::atomic<int> leading = 0, most = 0, events = 0;
  std::promise<void> done;
  start(4, [&] {
    const int now = ++leading;
    if (now > most) most = now;
    if (++events == kEvents) done.set_value();
    --leading;
    if (events % 3 == 0) pool_.hand_over();
    if (events % 5 == 0) pool_.watch();
    if (events >= kEvents) std::this_thread::yield();
  });
  done.get_future().wait();
  EXPECT_EQ(most, 1);
}

TEST_F(LeaderFollowersTest, StaysWithOneThreadUntilItHandsOver) {
  std::mutex mutex;
  std::set<std::thread::id> led;
  std::atomic<int> events = 0;
  std::promise<void> alone, handed_over;
  start(3, [&] {
    {
      const std::scoped_lock lock(mutex);
      led.insert(std::this_thread::get_id());
    }
    const int event = ++events;
    if (event == 100) {
      alone.set_value();
      pool_.hand_over();
      handed_over.get_future().wait();  // is done by whoever leads then
    }
    if (event == 101) handed_over.set_value();
    std::this_thread::yield();
  });
  alone.get_future().wait();
  {
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(led.size(), 1u);
  }
  while (finished_ == 0) std::this_thread::yield();  // the first one, when it came back
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(led.size(), 2u);
}

// Nobody would ever let the first leader go on, were it not for a follower that takes over.
TEST_F(LeaderFollowersTest, TakesOverFromOneThatStaysAway) {
  std::promise<void> taken_over, ended;
  std::atomic<int> events = 0;
  start(2, [&] {
    const int event = ++events;
    if (event == 1) {
      pool_.watch();
      taken_over.get_future().wait();
      ended.set_value();
    }
    if (event == 2) taken_over.set_value();
    std::this_thread::yield();
  });
  ended.get_future().wait();
  EXPECT_GE(events, 2);
}

}  // namespace
}  // namespace shoal
