#include "shoal/base/timing/open_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(OpenLoop, LetsAllClientsSend) {
  std::mutex mutex;
  std::multiset<size_t> clients;
  const uint64_t sent =
      run_open_loop({.clients = 5, .rate = 1000, .time = 50ms}, [&](size_t client) {
        const std::lock_guard lock(mutex);
        clients.insert(client);
      });
  EXPECT_EQ(sent, clients.size());
  EXPECT_LE(sent, 50u) << "no more than asked for";
  for (size_t client = 0; client < 5; ++client) EXPECT_GE(clients.count(client), 1u);
}

TEST(OpenLoop, LeavesOutWhatIsTooMuch) {
  std::atomic<int> under_way = 0, most = 0;
  run_open_loop({.clients = 20, .rate = 1e5, .time = 50ms, .most_at_once = 3}, [&](size_t) {
    const int now = ++under_way;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --under_way;
  });
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
}

// A client that waits for an answer does not make up for what it could not send meanwhile.
TEST(OpenLoop, LeavesOutWhatIsDueDuringARequest) {
  const uint64_t sent = run_open_loop({.clients = 1, .rate = 1e6, .time = 20ms}, [](size_t) {
    // From here on, not from before the call: the loop must have ended when this returns.
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(sent, 1u);
}

}  // namespace
}  // namespace shoal
