#include "shoal/cluster/coordinator/policy/dealer.h"

#include <gtest/gtest.h>

#include <queue>
#include <vector>

namespace shoal::cluster {
namespace {

using std::chrono::microseconds;
using Time = Dealer::Time;

// Workers that take so long for a request, one after the other, and clients that send the next one
// as soon as they have an answer; an answer and a request are on their way for `trip` together.
// Returns the requests that each answered until the end.
std::map<int, int> answered(Dealer& dealer, const std::map<int, microseconds>& seconds, int clients,
                            microseconds end, microseconds trip = microseconds(0)) {
  std::map<int, int> count;
  std::map<int, Time> idle_at;
  using Event = std::pair<Time, int>;  // an answer of this worker
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  const auto send = [&](Time now) {
    const int worker = dealer.begin(seconds.begin()->first, now);
    idle_at[worker] = std::max(idle_at[worker], now + trip / 2) + seconds.at(worker);
    events.emplace(idle_at[worker] + trip / 2, worker);
  };
  for (int i = 0; i < clients; ++i) send(Time());
  while (events.top().first < Time(end)) {
    const auto [now, worker] = events.top();
    events.pop();
    ++count[worker];
    dealer.end(worker, true, now);
    send(now);
  }
  return count;
}

// Whatever was expected, workers answer as often together as the sum of their speeds.
TEST(Dealer, KeepsAllWorkersBusy) {
  const std::map<int, microseconds> seconds{
      {0, microseconds(3190)}, {1, microseconds(5010)}, {4, microseconds(700)}};
  constexpr microseconds kEnd(1'000'000);
  for (const std::map<int, size_t>& expected : {std::map<int, size_t>{{0, 2}, {1, 1}, {4, 9}},
                                                std::map<int, size_t>{{0, 1}, {1, 1}, {4, 1}},
                                                std::map<int, size_t>{{0, 1}, {1, 20}, {4, 1}}}) {
    Dealer dealer;
    dealer.set_workers(expected);
    const auto count = answered(dealer, seconds, 6, kEnd);
    for (const auto& [worker, time] : seconds) {
      EXPECT_GE(count.at(worker) * time, 0.97 * kEnd) << worker;
    }
  }
}

// Neither of two waits for its next request, though requests are on their way for a while.
TEST(Dealer, SendsTheNextRequestBeforeOneIsDone) {
  constexpr microseconds kEnd(1'000'000);
  for (const int other : {3'600, 4'700, 5'870}) {
    const std::map<int, microseconds> seconds{{0, microseconds(3'600)}, {1, microseconds(other)}};
    Dealer dealer;
    dealer.set_workers({{0, 1}, {1, 1}});
    const auto count = answered(dealer, seconds, 4, kEnd, microseconds(1'000));
    for (const auto& [worker, time] : seconds) {
      EXPECT_GE(count.at(worker) * time, 0.97 * kEnd) << worker << " beside " << other;
    }
  }
}

// A worker that another program slows down gets less, and more again when it is as before.
TEST(Dealer, FollowsSpeeds) {
  Dealer dealer;
  dealer.set_workers({{0, 1}, {1, 1}});
  constexpr microseconds kEnd(100'000);
  for (const int slow : {1, 4, 1}) {
    const auto count =
        answered(dealer, {{0, microseconds(1000)}, {1, slow * microseconds(1000)}}, 4, kEnd);
    EXPECT_NEAR(count.at(0), 100, 4) << slow;
    EXPECT_NEAR(count.at(1), 100.0 / slow, 4) << slow;
    // Requests in progress at the end.
    for (const int worker : {0, 1}) {
      for (int i = 0; i < 4; ++i) dealer.end(worker, false, Time(kEnd));
    }
  }
}

// Where all have something to do, what they have counts as much as how fast they are.
TEST(Dealer, CountsWhatWorkersHaveToDo) {
  Dealer dealer;
  dealer.set_workers({{0, 2}, {1, 1}});  // the first is twice as fast
  std::map<int, int> given;
  for (int i = 0; i < 9; ++i) ++given[dealer.begin(0, Time())];
  EXPECT_EQ(given, (std::map<int, int>{{0, 6}, {1, 3}}));
}

TEST(Dealer, ForgetsWorkersThatAreLost) {
  Dealer dealer;
  dealer.set_workers({{0, 1}, {1, 1}});
  const int first = dealer.begin(1, Time());
  EXPECT_EQ(first, 1) << "nobody has anything to do";
  dealer.set_workers({{1 - first, 1}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(dealer.begin(first, Time()), 1 - first);
  dealer.end(first, true, Time(microseconds(1)));  // it is not there
  dealer.set_workers({{0, 1}, {1, 1}});
  dealer.end(first, true, Time(microseconds(1)));  // and has none now
  EXPECT_EQ(dealer.begin(1 - first, Time()), first) << "it has nothing to do";
}

}  // namespace
}  // namespace shoal::cluster
